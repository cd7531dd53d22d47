/*
 * Feeds a simulated device for two seconds: device_feed WAY. A kernel of N blocks takes N us.
 *
 *   own       900 us of the host's own work before each kernel of 100 us
 *   waits     the host waits for each kernel of 100 us, and works for 100 us
 *   launches  kernels of 1 us, in a row
 *   copies    a copy that waits behind each kernel of 20 us, and 60 us of the host's own work
 *   busy      kernels of 1 ms, and a copy that waits behind every tenth
 *
 * Prints what it did as "kernels copies device_us".
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "simcuda.h"
#include "work.h"

#define SECONDS 2

static unsigned long kernels, copies, device_us;

__attribute__((visibility("default"))) void feed_kernel(void **arguments, const unsigned *shape)
{
	(void)arguments;
	(void)shape;
}

static void spin_us(unsigned us)
{
	uint64_t until = sim_now_ns() + us * 1000ull;
	while (sim_now_ns() < until) {
	}
}

static void launch(unsigned us)
{
	const struct dim3 grid = {us, 1, 1}, block = {1, 1, 1};
	void *arguments[] = {NULL};

	cudaLaunchKernel((const void *)(uintptr_t)feed_kernel, grid, block, arguments, 0, NULL);
	kernels++;
	device_us += us;
}

static void copy(void)
{
	static char here[64];
	static void *there;

	if (!there) {
		cudaMalloc(&there, sizeof(here));
	}
	cudaMemcpy(there, here, sizeof(here), 1);
	copies++;
}

static void own(void)
{
	spin_us(900);
	launch(100);
}

static void waits(void)
{
	launch(100);
	cudaDeviceSynchronize();
	spin_us(100);
}

static void launches(void)
{
	launch(1);
}

static void copies_that_wait(void)
{
	launch(20);
	copy();
	spin_us(60);
}

static void busy(void)
{
	for (int i = 0; i < 10; i++) {
		launch(1000);
	}
	copy();
}

static const struct {
	const char *name;
	void (*turn)(void);
} ways[] = {{"own", own},
	    {"waits", waits},
	    {"launches", launches},
	    {"copies", copies_that_wait},
	    {"busy", busy}};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0) {
			continue;
		}
		uint64_t until = sim_now_ns() + SECONDS * 1000000000ull;
		while (sim_now_ns() < until) {
			ways[i].turn();
		}
		cudaDeviceSynchronize();
		printf("%lu %lu %lu\n", kernels, copies, device_us);
		return 0;
	}
	fprintf(stderr, "usage: device_feed own|waits|launches|copies|busy\n");
	return 2;
}
