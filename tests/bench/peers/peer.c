/* A program that runs a requested loop and prints the time per call: reads "LOOP CALLS" lines,
 * answers each with ns per call, and ends with its input. A driver holds one such process per tool
 * and lets them take turns, so that all of them see the same machine.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static const struct peer_loop *find_loop(const char *name)
{
	for (const struct peer_loop *loop = peer_loops; loop->name; loop++) {
		if (strcmp(loop->name, name) == 0) {
			return loop;
		}
	}
	return NULL;
}

static double measure(const struct peer_loop *loop, long calls)
{
	/* The cache misses of a process that was just woken are not part of the cost per call. */
	loop->run(calls / 8);
	double start = now_ns();
	loop->run(calls);
	return (now_ns() - start) / (double)calls;
}

int main(void)
{
	char name[64];
	long calls;
	while (scanf("%63s %ld", name, &calls) == 2) {
		const struct peer_loop *loop = find_loop(name);
		if (!loop || calls <= 0) {
			fprintf(stderr, "no such loop: %s %ld\n", name, calls);
			return EXIT_FAILURE;
		}
		printf("%.4f\n", measure(loop, calls));
		fflush(stdout);
	}
	return EXIT_SUCCESS;
}
