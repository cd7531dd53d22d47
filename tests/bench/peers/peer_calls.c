/* Loops over calls through the PLT, for any tool that hooks them; one rdtsc; and a log line per
 * call. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define LOOP(name)                                 \
	int name(void);                            \
	static void run_##name(long calls)         \
	{                                          \
		for (long i = 0; i < calls; i++) { \
			name();                    \
		}                                  \
	}
LOOP(bench_plain);
LOOP(bench_off);
LOOP(bench_count);
LOOP(bench_sample);
LOOP(bench_time);
LOOP(bench_record);
LOOP(bench_ordered);
LOOP(bench_unknown);

static void run_rdtsc(long calls)
{
	for (long i = 0; i < calls; i++) {
		(void)__rdtsc();
		__asm__ volatile("");
	}
}

static long long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* A tool that logs each call: a line such as cuda_mock's, in the file when the call returns. */
static void run_log(long calls)
{
	static FILE *log;
	if (!log && !(log = fopen("peer.log", "w"))) {
		perror("peer.log");
		exit(EXIT_FAILURE);
	}
	int pid = getpid(), tid = gettid();
	for (long i = 0; i < calls; i++) {
		long long start = now_ns();
		bench_plain();
		long long end = now_ns();
		fprintf(log,
			"[INFO][PROFILE][peer.c:1][PID:%d][TID:%d][TS:%lldus]bench_plain costs "
			"%lldns\n",
			pid, tid, end / 1000, end - start);
		fflush(log);
	}
}

const struct peer_loop peer_loops[] = {
    {"rdtsc", run_rdtsc},
    {"plain", run_bench_plain},
    {"off", run_bench_off},
    {"count", run_bench_count},
    {"sample", run_bench_sample},
    {"time", run_bench_time},
    {"record", run_bench_record},
    {"ordered", run_bench_ordered},
    {"unknown", run_bench_unknown},
    {"log", run_log},
    {NULL, NULL},
};
