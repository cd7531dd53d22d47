/*
 * Every rank makes the same calls of the simulated NCCL and knows them: mpirun -n N nccl_truth
 * DIRECTORY writes DIRECTORY/truth-<rank>.json as truth.h does. MPI only carries the unique ids.
 */
#include <mpi.h>

#include "../truth.h"
#include "simcuda.h"

static struct truth_table truth = {.library = "nccl_truth"};

#define DO(bytes, ...) TRUTH_CALL(&truth, bytes, __VA_ARGS__)

static void get_id(int rank, ncclUniqueId *id)
{
	if (rank == 0) {
		DO(0, ncclGetUniqueId, id);
	}
	MPI_Bcast(id, sizeof(*id), MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Sent bytes as MPI counts them: what this rank gives away. */
static void communicate(ncclComm_t comm, int rank, int ranks)
{
	static double from[4096], to[4096];

	for (size_t i = 1; i <= 10; i++) {
		DO(i * 4, ncclAllReduce, from, to, i, ncclFloat, 0, comm, NULL);
		DO(i * 2, ncclAllReduce, from, to, i, ncclBfloat16, 0, comm, NULL);
		DO(i, ncclAllGather, from, to, i, ncclFloat8e5m2, comm, NULL);
		DO(i * 8 * (size_t)ranks, ncclReduceScatter, from, to, i, ncclDouble, 0, comm,
		   NULL);
		DO(rank == 1 ? i * 8 : 0, ncclBroadcast, from, to, i, ncclInt64, 1, comm, NULL);
		DO(i, ncclReduce, from, to, i, ncclInt8, 0, 0, comm, NULL);
	}
	DO(0, ncclGroupStart);
	DO(400, ncclSend, from, 100, ncclInt32, (rank + 1) % ranks, comm, NULL);
	DO(0, ncclRecv, to, 100, ncclInt32, (rank + ranks - 1) % ranks, comm, NULL);
	DO(0, ncclGroupEnd);
}

/* A call that fails is booked by hand. */
static void mistakes(ncclComm_t comm)
{
	static char buffer[8];
	struct truth_row *row = truth_row(&truth, "ncclSend");

	row->calls++;
	row->errors++; /* nothing was sent */
	if (ncclSend(buffer, 8, ncclInt8, 999, comm, NULL) != SIM_NCCL_INVALID_ARGUMENT) {
		abort();
	}
}

/* "In progress" is no failure. */
static ncclComm_t start_without_blocking(const ncclUniqueId *id, int rank, int ranks)
{
	struct sim_nccl_config config = {.blocking = 0};
	struct truth_row *row = truth_row(&truth, "ncclCommInitRankConfig");
	ncclComm_t comm;

	row->calls++;
	if (ncclCommInitRankConfig(&comm, ranks, *id, rank, &config) != SIM_NCCL_IN_PROGRESS) {
		abort();
	}
	return comm;
}

static void several_of_one_process(void)
{
	static char buffer[8];
	const int devices[] = {0, 1};
	ncclComm_t comms[2];

	DO(0, ncclCommInitAll, comms, 2, devices);
	for (int i = 0; i < 2; i++) {
		DO(8, ncclAllReduce, buffer, buffer, 8, ncclInt8, 0, comms[i], NULL);
		DO(0, ncclCommDestroy, comms[i]);
	}
}

static void memory(void)
{
	CUcontext context;
	void *pointers[2];

	cuDevicePrimaryCtxRetain(&context, 1);
	cuCtxSetCurrent(context);
	DO(0, ncclMemAlloc, &pointers[0], 1000);
	DO(0, ncclMemAlloc, &pointers[1], 3000);
	DO(0, ncclMemFree, pointers[0]);
}

int main(int argc, char **argv)
{
	ncclComm_t world, other, child;
	ncclUniqueId id;
	char path[4096];
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 2 || ranks < 2) {
		fprintf(stderr, "usage: mpirun -n N nccl_truth DIRECTORY (N > 1)\n");
		return 2;
	}
	get_id(rank, &id);
	DO(0, ncclCommInitRank, &world, ranks, id, rank);
	get_id(rank, &id);
	other = start_without_blocking(&id, rank, ranks);
	communicate(world, rank, ranks);
	communicate(other, rank, ranks);
	mistakes(world);
	DO(0, ncclCommSplit, world, rank % 2, rank, &child, NULL);
	DO(16, ncclAllReduce, &id, &id, 16, ncclInt8, 0, child, NULL);
	several_of_one_process();
	memory();
	DO(0, ncclCommDestroy, child);
	DO(0, ncclCommAbort, other);
	DO(0, ncclCommDestroy, world);
	snprintf(path, sizeof(path), "%s/truth-%d.json", argv[1], rank);
	FILE *out = fopen(path, "w");
	if (!out) {
		return 1;
	}
	fprintf(out, "{\"rank\":%d,\"calls\":{", rank);
	truth_write(out, &truth);
	fprintf(out, "}}\n");
	MPI_Finalize();
	return fclose(out) == 0 ? 0 : 1;
}
