/* bench_beat CALLS PERIOD_US: calls a hooked function every so many microseconds.
 *
 * Prints, for each call, when it was made: CLOCK_MONOTONIC in ns, a line each. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int bench_time(void);

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv)
{
	long calls = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
	long period_us = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	if (calls < 1 || period_us < 1) {
		fprintf(stderr, "usage: bench_beat CALLS PERIOD_US\n");
		return 2;
	}
	int64_t due_ns = now_ns();
	for (long i = 0; i < calls; i++) {
		struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) != 0) {
		}
		int64_t made_ns = now_ns();
		bench_time();
		printf("%" PRId64 "\n", made_ns);
		due_ns += period_us * INT64_C(1000);
	}
	return 0;
}
