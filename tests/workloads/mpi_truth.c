/*
 * An MPI program that knows what it calls: mpi_truth DIRECTORY [ROUNDS] writes
 * DIRECTORY/truth-<rank>.json,
 *   {"rank":0,"pid":1,"calls":{"<library>":{"<function>":{"calls","bytes","total_ns","max_ns"}}}}
 * with the calls of the program itself, of a linked library and of a plugin apart. The rule for
 * bytes: send count x type size per call; sendcounts summed where there are several; root only for
 * Bcast and Scatter; 0 for receives and waits. The number of ranks is a multiple of 4. The number
 * of MPI_Test calls depends on the run; the table has the number of this run.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "mpi_truth.h"

#define RANKS_MAX 64
#define COUNT_MAX 4096
#define LATE_ROUNDS 10

static struct truth_table table = {.library = "mpi_truth"};
static int world_rank;

#define CALL(bytes, ...) TRUTH_CALL(&table, bytes, __VA_ARGS__)

/* Blocking pairs: the even rank sends first. */
static void blocking_pairs(MPI_Comm comm, int rank, int rounds)
{
	static int buffer[COUNT_MAX];
	int peer = rank ^ 1;

	for (int i = 0; i < rounds; i++) {
		int count = (i % 7) * 100;

		if (rank % 2 == 0) {
			CALL((size_t)count * sizeof(int), MPI_Send, buffer, count, MPI_INT, peer, i,
			     comm);
			CALL(0, MPI_Recv, buffer, count, MPI_INT, peer, i, comm, MPI_STATUS_IGNORE);
		} else {
			CALL(0, MPI_Recv, buffer, count, MPI_INT, peer, i, comm, MPI_STATUS_IGNORE);
			CALL((size_t)count * sizeof(int), MPI_Ssend, buffer, count, MPI_INT, peer,
			     i, comm);
		}
	}
}

static void sendrecv_ring(MPI_Comm comm, int rank, int size, int rounds)
{
	int out[12] = {0};
	int in[12];
	int next = (rank + 1) % size;
	int previous = (rank + size - 1) % size;
	MPI_Datatype rows;

	/* Three blocks of two ints, four apart: 24 bytes of data over 40 bytes of memory. */
	CALL(0, MPI_Type_vector, 3, 2, 4, MPI_INT, &rows);
	CALL(0, MPI_Type_commit, &rows);
	for (int i = 0; i < rounds; i++) {
		CALL(6 * sizeof(int), MPI_Sendrecv, out, 1, rows, next, 3, in, 6, MPI_INT, previous,
		     3, comm, MPI_STATUS_IGNORE);
	}
	CALL(0, MPI_Type_free, &rows);
	CALL(8 * sizeof(int), MPI_Sendrecv_replace, out, 8, MPI_INT, next, 4, previous, 4, comm,
	     MPI_STATUS_IGNORE);
}

static void nonblocking_waitall(MPI_Comm comm, int rank, int size, int rounds)
{
	static double out[COUNT_MAX];
	static double in[RANKS_MAX][64];
	MPI_Request requests[2 * RANKS_MAX];

	for (int i = 0; i < rounds; i++) {
		int n = 0;

		for (int peer = 0; peer < size; peer++) {
			if (peer != rank) {
				CALL(0, MPI_Irecv, in[peer], 64, MPI_DOUBLE, peer, 5, comm,
				     &requests[n++]);
			}
		}
		for (int peer = 0; peer < size; peer++) {
			if (peer != rank) {
				CALL(64 * sizeof(double), MPI_Isend, out, 64, MPI_DOUBLE, peer, 5,
				     comm, &requests[n++]);
			}
		}
		CALL(0, MPI_Waitall, n, requests, MPI_STATUSES_IGNORE);
	}
}

static void nonblocking_wait_and_test(MPI_Comm comm, int rank, int rounds)
{
	char out[100] = {0};
	char in[100];
	MPI_Request send;
	MPI_Request receive;

	for (int i = 0; i < rounds; i++) {
		int arrived = false;

		CALL(0, MPI_Irecv, in, 100, MPI_CHAR, rank ^ 1, 6, comm, &receive);
		CALL(100, MPI_Isend, out, 100, MPI_CHAR, rank ^ 1, 6, comm, &send);
		while (!arrived) {
			CALL(0, MPI_Test, &receive, &arrived, MPI_STATUS_IGNORE);
		}
		CALL(0, MPI_Wait, &send, MPI_STATUS_IGNORE);
	}
}

static void rooted_collectives(MPI_Comm comm, int rank, int size, int rounds)
{
	static int out[COUNT_MAX];
	static int in[COUNT_MAX];
	int counts[RANKS_MAX];
	int offsets[RANKS_MAX];
	int total = 0;

	for (int i = 0; i < size; i++) {
		counts[i] = i + 1;
		offsets[i] = total;
		total += counts[i];
	}
	for (int i = 0; i < rounds; i++) {
		int root = i % size;
		bool at_root = rank == root;

		CALL(at_root ? 50 * sizeof(int) : 0, MPI_Bcast, out, 50, MPI_INT, root, comm);
		CALL(20 * sizeof(int), MPI_Reduce, out, in, 20, MPI_INT, MPI_MAX, root, comm);
		CALL(5 * sizeof(int), MPI_Gather, out, 5, MPI_INT, in, 5, MPI_INT, root, comm);
		CALL(at_root ? 5 * sizeof(int) : 0, MPI_Scatter, out, 5, MPI_INT, in, 5, MPI_INT,
		     root, comm);
		CALL((size_t)counts[rank] * sizeof(int), MPI_Gatherv, out, counts[rank], MPI_INT,
		     in, counts, offsets, MPI_INT, root, comm);
		CALL(at_root ? (size_t)total * sizeof(int) : 0, MPI_Scatterv, out, counts, offsets,
		     MPI_INT, in, counts[rank], MPI_INT, root, comm);
	}
}

static void symmetric_collectives(MPI_Comm comm, int rank, int size, int rounds)
{
	static double out[COUNT_MAX];
	static double in[COUNT_MAX];
	int ones[RANKS_MAX];
	int counts[RANKS_MAX];
	int offsets[RANKS_MAX];

	for (int i = 0; i < size; i++) {
		ones[i] = 1;
		counts[i] = 2;
		offsets[i] = 2 * i;
	}
	for (int i = 0; i < rounds; i++) {
		CALL(0, MPI_Barrier, comm);
		CALL(30 * sizeof(double), MPI_Allreduce, out, in, 30, MPI_DOUBLE, MPI_SUM, comm);
		CALL(3 * sizeof(double), MPI_Allreduce, MPI_IN_PLACE, in, 3, MPI_DOUBLE, MPI_SUM,
		     comm);
		CALL(4 * sizeof(double), MPI_Allgather, out, 4, MPI_DOUBLE, in, 4, MPI_DOUBLE,
		     comm);
		CALL(2 * sizeof(double), MPI_Allgatherv, out, 2, MPI_DOUBLE, in, counts, offsets,
		     MPI_DOUBLE, comm);
		CALL(3 * sizeof(double), MPI_Alltoall, out, 3, MPI_DOUBLE, in, 3, MPI_DOUBLE, comm);
		CALL((size_t)(2 * size) * sizeof(double), MPI_Alltoallv, out, counts, offsets,
		     MPI_DOUBLE, in, counts, offsets, MPI_DOUBLE, comm);
		CALL((size_t)size * sizeof(double), MPI_Alltoallv, out, ones, offsets, MPI_DOUBLE,
		     in, ones, offsets, MPI_DOUBLE, comm);
		CALL(6 * sizeof(double), MPI_Scan, out, in, 6, MPI_DOUBLE, MPI_SUM, comm);
	}
	(void)rank;
}

static void nonblocking_collectives(MPI_Comm comm, int rounds)
{
	long long out[10] = {0};
	long long in[10];
	MPI_Request request;

	for (int i = 0; i < rounds; i++) {
		CALL(10 * sizeof(long long), MPI_Iallreduce, out, in, 10, MPI_LONG_LONG, MPI_SUM,
		     comm, &request);
		CALL(0, MPI_Wait, &request, MPI_STATUS_IGNORE);
		CALL(0, MPI_Ibarrier, comm, &request);
		CALL(0, MPI_Wait, &request, MPI_STATUS_IGNORE);
	}
}

static void everything_on(MPI_Comm comm, int rounds)
{
	int rank;
	int size;

	CALL(0, MPI_Comm_rank, comm, &rank);
	CALL(0, MPI_Comm_size, comm, &size);
	blocking_pairs(comm, rank, rounds);
	sendrecv_ring(comm, rank, size, rounds);
	nonblocking_waitall(comm, rank, size, rounds);
	nonblocking_wait_and_test(comm, rank, rounds);
	rooted_collectives(comm, rank, size, rounds);
	symmetric_collectives(comm, rank, size, rounds);
	nonblocking_collectives(comm, rounds);
}

/* Communicators one after the other, of which a later one may have the handle of an earlier one,
 * and in which this rank has another number each time. */
static void reused_handles(int rounds)
{
	static int data[COUNT_MAX];

	for (int i = 0; i < rounds; i++) {
		MPI_Comm half;
		int rank;

		CALL(0, MPI_Comm_split, MPI_COMM_WORLD, world_rank / 2,
		     i % 2 ? world_rank : -world_rank, &half);
		CALL(0, MPI_Comm_rank, half, &rank);
		CALL(rank ? 0 : 50 * sizeof(int), MPI_Bcast, data, 50, MPI_INT, 0, half);
		CALL(rank ? 50 * sizeof(int) : 0, MPI_Bcast, data, 50, MPI_INT, 1, half);
		CALL(0, MPI_Comm_free, &half);
	}
}

static void several_communicators(int rounds)
{
	MPI_Comm copy;
	MPI_Comm half;

	CALL(0, MPI_Comm_dup, MPI_COMM_WORLD, &copy);
	everything_on(copy, rounds);
	CALL(0, MPI_Comm_split, copy, world_rank / 2, -world_rank, &half);
	everything_on(half, rounds);
	CALL(0, MPI_Comm_free, &half);
	CALL(0, MPI_Comm_free, &copy);
	reused_handles(rounds);
}

static void align(MPI_Comm comm)
{
	CALL(0, MPI_Barrier, comm);
}

/* Opens the plugin beside the program and runs it; returns its table. */
static const struct truth_table *run_plugin(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	void *plugin;
	mpi_truth_plugin_run_fn *run;
	mpi_truth_plugin_table_fn *get_table;

	if (length < 0) {
		abort();
	}
	path[length] = '\0';
	snprintf(strrchr(path, '/'), 64, "/libmpi_truth_plugin.so");
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		fprintf(stderr, "mpi_truth: %s\n", dlerror());
		abort();
	}
	run = (mpi_truth_plugin_run_fn *)dlsym(plugin, "mpi_truth_plugin_run");
	get_table = (mpi_truth_plugin_table_fn *)dlsym(plugin, "mpi_truth_plugin_table");
	if (!run || !get_table) {
		abort();
	}
	run(MPI_COMM_WORLD, LATE_ROUNDS, align);
	return get_table();
}

static int write_truth(const char *directory, const struct truth_table *plugin)
{
	char path[PATH_MAX];
	FILE *out;

	snprintf(path, sizeof(path), "%s/truth-%d.json", directory, world_rank);
	out = fopen(path, "w");
	if (!out) {
		fprintf(stderr, "mpi_truth: %s: %s\n", path, strerror(errno));
		return 1;
	}
	fprintf(out, "{\"rank\":%d,\"pid\":%d,\"calls\":{", world_rank, (int)getpid());
	truth_write(out, &table);
	fprintf(out, ",\n");
	truth_write(out, mpi_truth_library_table());
	fprintf(out, ",\n");
	truth_write(out, plugin);
	fprintf(out, "}}\n");
	return fclose(out) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20;
	const struct truth_table *plugin;
	int size;

	if (argc < 2 || rounds < 1) {
		fprintf(stderr, "usage: mpi_truth DIRECTORY [ROUNDS]\n");
		return 2;
	}
	CALL(0, MPI_Init, &argc, &argv);
	CALL(0, MPI_Comm_rank, MPI_COMM_WORLD, &world_rank);
	CALL(0, MPI_Comm_size, MPI_COMM_WORLD, &size);
	if (size % 4 != 0 || size > RANKS_MAX) {
		fprintf(stderr, "mpi_truth: needs a multiple of 4 ranks, at most %d\n", RANKS_MAX);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	everything_on(MPI_COMM_WORLD, rounds);
	several_communicators(rounds);
	mpi_truth_library_run(MPI_COMM_WORLD, rounds);
	plugin = run_plugin();
	CALL(0, MPI_Finalize);
	return write_truth(argv[1], plugin);
}
