/* bench_loss THREADS CALLS RATE: each thread calls a hooked function CALLS times, RATE times a
 * second (0: flat out).
 *
 * Between batches a paced thread computes, as programs do: it does not sleep, and leaves the
 * collector no core that it has not fought for. Prints the calls per second and thread that were
 * reached.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define MOST_THREADS 64
#define BATCH 500

int bench_record(void);

static long calls, rate;

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void call_batch(long count)
{
	for (long i = 0; i < count; i++) {
		bench_record();
	}
}

static void *run_thread(void *unused)
{
	int64_t start = now_ns();
	for (long done = 0; done < calls;) {
		long batch = calls - done < BATCH ? calls - done : BATCH;
		call_batch(batch);
		done += batch;
		/* A thread that lost its core catches up: the rate is the mean one. */
		int64_t due = rate ? start + (int64_t)((double)done * 1e9 / (double)rate) : 0;
		while (now_ns() < due) {
			_mm_pause();
		}
	}
	return unused;
}

int main(int argc, char **argv)
{
	long threads = argc == 4 ? strtol(argv[1], NULL, 10) : 0;
	if (threads < 1 || threads > MOST_THREADS) {
		fprintf(stderr, "usage: bench_loss THREADS CALLS RATE\n");
		return 2;
	}
	calls = strtol(argv[2], NULL, 10);
	rate = strtol(argv[3], NULL, 10);
	pthread_t ids[MOST_THREADS];
	int64_t start = now_ns();
	for (long i = 0; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, run_thread, NULL) != 0) {
			perror("pthread_create");
			return 1;
		}
	}
	for (long i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
	}
	printf("%.0f\n", (double)calls * 1e9 / (double)(now_ns() - start));
	return 0;
}
