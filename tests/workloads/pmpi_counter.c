#include "pmpi_counter.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct count {
	atomic_ullong calls;
	atomic_ullong outermost_ns;
};

static struct count counts[PMPI_MAX];
static _Thread_local unsigned depth;
static unsigned long long init_ns;

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000U + (unsigned long long)now.tv_nsec;
}

unsigned long long pmpi_enter(unsigned number)
{
	atomic_fetch_add_explicit(&counts[number].calls, 1, memory_order_relaxed);
	depth++;
	return now_ns();
}

void pmpi_leave(unsigned number, unsigned long long start_ns)
{
	if (--depth == 0) {
		atomic_fetch_add_explicit(&counts[number].outermost_ns, now_ns() - start_ns,
					  memory_order_relaxed);
	}
}

static void write_counts(int rank, unsigned long long end_ns)
{
	const char *directory = getenv("PMPI_COUNTER_DIR");
	char path[PATH_MAX];
	unsigned long long total = 0;
	const char *comma = "";
	FILE *out;

	snprintf(path, sizeof(path), "%s/pmpi-%d.json", directory ? directory : ".", rank);
	out = fopen(path, "w");
	if (!out) {
		fprintf(stderr, "pmpi_counter: %s: %s\n", path, strerror(errno));
		return;
	}
	fprintf(out, "{\"rank\":%d,\"calls\":{", rank);
	for (unsigned i = 0; i < pmpi_count; i++) {
		unsigned long long calls = atomic_load(&counts[i].calls);
		unsigned long long outermost = atomic_load(&counts[i].outermost_ns);

		if (calls > 0) {
			fprintf(out, "%s\n\"%s\":{\"calls\":%llu,\"outermost_ns\":%llu}", comma,
				pmpi_names[i], calls, outermost);
			comma = ",";
			total += outermost;
		}
	}
	fprintf(out, "},\n\"outermost_ns\":%llu,\"wall_ns\":%llu}\n", total, end_ns - init_ns);
	if (fclose(out) != 0) {
		fprintf(stderr, "pmpi_counter: %s: %s\n", path, strerror(errno));
	}
}

int MPI_Init(int *argc, char ***argv)
{
	unsigned long long start = pmpi_enter(PMPI_INIT);
	int result = PMPI_Init(argc, argv);

	init_ns = start;
	pmpi_leave(PMPI_INIT, start);
	return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	unsigned long long start = pmpi_enter(PMPI_INIT_THREAD);
	int result = PMPI_Init_thread(argc, argv, required, provided);

	init_ns = start;
	pmpi_leave(PMPI_INIT_THREAD, start);
	return result;
}

int MPI_Finalize(void)
{
	unsigned long long start;
	int rank = -1;
	int result;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	start = pmpi_enter(PMPI_FINALIZE);
	result = PMPI_Finalize();
	pmpi_leave(PMPI_FINALIZE, start);
	write_counts(rank, now_ns());
	return result;
}
