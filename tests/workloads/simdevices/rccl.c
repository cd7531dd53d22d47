/* A simulated librccl.so.1: communicators that know their size and rank, collectives that copy the
 * rank's own data on the stream. Memory comes from the runtime, rounded up. */
#include <stdlib.h>
#include <unistd.h>

#include "hip.h"

#define GRANULARITY ((size_t)2 << 20)

struct sim_comm {
	int ranks, rank;
};

static const uint8_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

int ncclGetUniqueId(ncclUniqueId *id)
{
	static unsigned count;
	unsigned seed = (unsigned)getpid() * 65537u + ++count;

	for (size_t i = 0; i < sizeof(id->internal); i++) {
		seed = seed * 1664525u + 1013904223u;
		id->internal[i] = (char)(seed >> 24);
	}
	return ncclSuccess;
}

static int make(ncclComm_t *comm, int ranks, int rank)
{
	*comm = rank >= 0 && rank < ranks ? calloc(1, sizeof(**comm)) : NULL;
	if (!*comm) {
		return ncclInvalidArgument;
	}
	(*comm)->ranks = ranks;
	(*comm)->rank = rank;
	return ncclSuccess;
}

int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
	return id.internal[0] || id.internal[1] ? make(comm, ranks, rank) : ncclInvalidArgument;
}

/* As if every rank of the parent had given the same color and its own rank as key. */
int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child, void *config)
{
	(void)config;
	*child = NULL;
	return color < 0 ? ncclSuccess : make(child, comm->ranks, key);
}

int ncclCommDestroy(ncclComm_t comm)
{
	free(comm);
	return comm ? ncclSuccess : ncclInvalidArgument;
}

int ncclCommCount(ncclComm_t comm, int *ranks)
{
	*ranks = comm->ranks;
	return ncclSuccess;
}

int ncclCommUserRank(ncclComm_t comm, int *rank)
{
	*rank = comm->rank;
	return ncclSuccess;
}

static int move(const void *from, void *to, size_t count, int type, ncclComm_t comm,
		hipStream_t stream)
{
	if (!comm || type < 0 || (size_t)type >= sizeof(sizes)) {
		return ncclInvalidArgument;
	}
	/* The runtime inside of the library is not called through slots. */
	return sim_copy(stream, to, from, count * sizes[type]) == 0 ? ncclSuccess
								    : ncclInvalidArgument;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		  hipStream_t stream)
{
	return op == 0 ? move(from, to, count, type, comm, stream) : ncclInvalidArgument;
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, ncclComm_t comm,
		  hipStream_t stream)
{
	return root == comm->rank ? move(from, to, count, type, comm, stream) : ncclSuccess;
}

int ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t comm,
		  hipStream_t stream)
{
	return move(from, to, count, type, comm, stream);
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		      hipStream_t stream)
{
	return op == 0 ? move(from, to, count, type, comm, stream) : ncclInvalidArgument;
}

int ncclAllToAll(const void *from, void *to, size_t count, int type, ncclComm_t comm,
		 hipStream_t stream)
{
	return move(from, to, count, type, comm, stream);
}

int ncclAllToAllv(const void *from, const size_t counts[], const size_t places[], void *to,
		  const size_t to_counts[], const size_t to_places[], int type, ncclComm_t comm,
		  hipStream_t stream)
{
	bool sound = counts && places && to_counts && to_places;

	return sound ? move(from, to, counts[comm->rank], type, comm, stream) : ncclInvalidArgument;
}

int ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm,
	     hipStream_t stream)
{
	(void)count;
	(void)type;
	(void)stream;
	return from && peer >= 0 && peer < comm->ranks ? ncclSuccess : ncclInvalidArgument;
}

int ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm, hipStream_t stream)
{
	return ncclSend(to, count, type, peer, comm, stream);
}

int ncclGroupStart(void)
{
	return ncclSuccess;
}

int ncclGroupEnd(void)
{
	return ncclSuccess;
}

int ncclMemAlloc(void **pointer, size_t size)
{
	size_t rounded = (size + GRANULARITY - 1) / GRANULARITY * GRANULARITY;

	return hipMalloc(pointer, rounded) == hipSuccess ? ncclSuccess : ncclInvalidArgument;
}

int ncclMemFree(void *pointer)
{
	return hipFree(pointer) == hipSuccess ? ncclSuccess : ncclInvalidArgument;
}
