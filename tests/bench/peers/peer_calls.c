/* Loops over calls through the PLT, for whoever hooks them; one rdtsc; and a log line per call. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
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

/* What a program does that logs how long a call took, each line safe when the next begins. The
 * clock is the cheapest there is: only the line is to differ. */
static void run_log(long calls)
{
	static FILE *log;
	if (!log && !(log = fopen("peer.log", "w"))) {
		perror("peer.log");
		exit(EXIT_FAILURE);
	}
	for (long i = 0; i < calls; i++) {
		unsigned long long start = __rdtsc();
		bench_plain();
		fprintf(log, "[%llu] bench_plain costs %llu\n", start,
			(unsigned long long)__rdtsc() - start);
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
