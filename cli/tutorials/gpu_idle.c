/* gpu_idle.c: a training of the kind whose device waits: a loader makes batches, and a step copies
 * one to the device, works there, and waits for it. LOADERS are the processes that load. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef LOADERS
#define LOADERS 1
#endif
#define STEPS 240
#define BATCH 65536
#define MODEL (16u << 20)
#define TO_DEVICE 1

/* Of cuda_runtime_api.h, so that a C compiler suffices. */
int cudaMalloc(void **memory, size_t size);
int cudaMemcpy(void *to, const void *from, size_t size, int kind);
int cudaMemset(void *memory, int value, size_t size);
int cudaDeviceSynchronize(void);

static char batch[BATCH];

/* Makes its part of the batches; each takes ten milliseconds, as from a slow disk. */
static int load(int output)
{
	for (int i = 0; i < STEPS / LOADERS; i++) {
		usleep(10000);
		if (write(output, batch, BATCH) != BATCH) {
			return 1;
		}
	}
	return 0;
}

static void loaders_start(int inputs[LOADERS])
{
	for (int i = 0; i < LOADERS; i++) {
		int ends[2];
		if (pipe(ends) || (inputs[i] = ends[0]) < 0) {
			exit(1);
		}
		if (fork() == 0) {
			exit(load(ends[1]));
		}
		close(ends[1]);
	}
}

static int next_batch(int input)
{
	size_t had = 0;

	while (had < BATCH) {
		ssize_t more = read(input, batch + had, BATCH - had);
		if (more <= 0) {
			return -1;
		}
		had += (size_t)more;
	}
	return 0;
}

int main(void)
{
	int inputs[LOADERS], failed = 0;
	void *device, *model;

	loaders_start(inputs);
	if (cudaMalloc(&device, BATCH) || cudaMalloc(&model, MODEL)) {
		fputs("no device\n", stderr);
		return 1;
	}
	for (int step = 0; step < STEPS && !failed; step++) {
		failed = next_batch(inputs[step % LOADERS]) ||
			 cudaMemcpy(device, batch, BATCH, TO_DEVICE) ||
			 cudaMemset(model, step, MODEL) || cudaDeviceSynchronize();
	}
	while (wait(NULL) > 0) {
	}
	return failed;
}
