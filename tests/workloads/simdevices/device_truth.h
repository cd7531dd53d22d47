/*
 * What the programs on simulated runtimes know beside their calls: memory by device and kind, and
 * two threads that work in phases. Memory only grows or only shrinks within a phase, so the peak is
 * the sum at the end of one, whatever the order within. Each thread has a table of calls of its
 * own.
 */
#ifndef HK_WORKLOADS_DEVICE_TRUTH_H
#define HK_WORKLOADS_DEVICE_TRUTH_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "../truth.h"
#include "device.h"

#define TRUTH_THREADS 2

enum truth_memory {
	TRUTH_DEVICE, /* plus the device */
	TRUTH_MANAGED = TRUTH_DEVICE + SIM_DEVICES,
	TRUTH_PINNED = TRUTH_MANAGED + SIM_DEVICES,
	TRUTH_MEMORIES
};

static struct {
	const char *name;
	_Atomic unsigned long long allocs, frees;
	_Atomic long long live;
	long long peak;
} truth_accounts[TRUTH_MEMORIES] = {
    {.name = "device 0"},  {.name = "device 1"},  {.name = "managed 0"},
    {.name = "managed 1"}, {.name = "pinned -1"},
};

static struct truth_table truth_tables[TRUTH_THREADS];
static _Thread_local int truth_thread;

/* Makes a call that must succeed, one that must fail with WANTED, and one whose result WANTED is no
 * failure. */
#define DO(bytes, ...) TRUTH_CALL(&truth_tables[truth_thread], bytes, __VA_ARGS__)
#define GET(wanted, failed, function, ...)                                                      \
	do {                                                                                    \
		struct truth_row *get_row_ = truth_row(&truth_tables[truth_thread], #function); \
		int get_result_ = function(__VA_ARGS__);                                        \
		get_row_->calls++;                                                              \
		get_row_->errors += (failed);                                                   \
		truth_need(get_result_ == (wanted), #function);                                 \
	} while (0)
#define FAIL(wanted, ...) GET(wanted, 1, __VA_ARGS__)
#define SAY(wanted, ...) GET(wanted, 0, __VA_ARGS__)

static inline void truth_need(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "%s: not as expected\n", what);
		abort();
	}
}

static inline void truth_took(enum truth_memory memory, size_t bytes)
{
	atomic_fetch_add(&truth_accounts[memory].allocs, 1);
	atomic_fetch_add(&truth_accounts[memory].live, (long long)bytes);
}

static inline void truth_gave(enum truth_memory memory, size_t bytes)
{
	atomic_fetch_add(&truth_accounts[memory].frees, 1);
	atomic_fetch_sub(&truth_accounts[memory].live, (long long)bytes);
}

static inline void truth_end_phase(void)
{
	for (int i = 0; i < TRUTH_MEMORIES; i++) {
		long long live = truth_accounts[i].live;
		truth_accounts[i].peak =
		    live > truth_accounts[i].peak ? live : truth_accounts[i].peak;
	}
}

/* Runs PHASE on the main thread and another one. */
static inline void truth_run_phase(void *(*phase)(void *thread))
{
	pthread_t other;

	truth_need(pthread_create(&other, NULL, phase, (void *)1) == 0, "pthread_create");
	phase((void *)0);
	pthread_join(other, NULL);
	truth_end_phase();
}

static inline void truth_merge(void)
{
	for (int i = 0; i < TRUTH_ROWS && truth_tables[1].rows[i].function; i++) {
		const struct truth_row *from = &truth_tables[1].rows[i];
		struct truth_row *to = truth_row(&truth_tables[0], from->function);

		to->calls += from->calls;
		to->errors += from->errors;
		to->bytes += from->bytes;
	}
}

/* Writes DIRECTORY/truth-RANK.json. Returns the status of the program. */
static inline int truth_finish(const char *directory, int rank)
{
	char path[4096];

	truth_merge();
	snprintf(path, sizeof(path), "%s/truth-%d.json", directory, rank);
	FILE *out = fopen(path, "w");
	if (!out) {
		return 1;
	}
	fprintf(out, "{\"rank\":%d,\"calls\":{", rank);
	truth_write(out, &truth_tables[0]);
	fprintf(out, "},\n\"memory\":{");
	for (int i = 0; i < TRUTH_MEMORIES; i++) {
		fprintf(out,
			"%s\n\"%s\":{\"allocs\":%llu,\"frees\":%llu,\"live_bytes\":%lld,"
			"\"peak_bytes\":%lld}",
			i > 0 ? "," : "", truth_accounts[i].name, truth_accounts[i].allocs,
			truth_accounts[i].frees, truth_accounts[i].live, truth_accounts[i].peak);
	}
	fprintf(out, "}}\n");
	return fclose(out) == 0 ? 0 : 1;
}

/* Starts MPI, which only carries unique ids. Returns the rank. */
static inline int truth_begin(int *argc, char ***argv, const char *program, int *ret_ranks)
{
	int rank;

	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, ret_ranks);
	if (*argc != 2 || *ret_ranks < 2) {
		fprintf(stderr, "usage: mpirun -n N %s DIRECTORY (N > 1)\n", program);
		exit(2);
	}
	for (int i = 0; i < TRUTH_THREADS; i++) {
		truth_tables[i].library = program;
	}
	return rank;
}

/* A kernel that adds up its shape into the word that its first argument names, times its second. */
static inline void truth_kernel(const struct sim_launch *launch)
{
	uint64_t sum = 0;

	for (int i = 0; i < 3; i++) {
		sum = sum * 1000 + launch->grid[i] * 10 + launch->block[i];
	}
	*(uint64_t *)launch->arguments[0] += sum * (uint64_t)launch->arguments[1];
}
#define TRUTH_KERNEL_SUM(gx, gy, gz, bx, by, bz)                                 \
	((((uint64_t)(gx)*10 + (bx)) * 1000 + (uint64_t)(gy)*10 + (by)) * 1000 + \
	 (uint64_t)(gz)*10 + (bz))

#endif
