/* A simulated libnccl.so.2: communicators that know their size and rank, collectives that only copy
 * the rank's own data. Memory comes from the driver, rounded up, as with the real one. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl_plugin.h"
#include "simcuda.h"

#define GRANULARITY ((size_t)2 << 20)

struct sim_comm {
	int ranks, rank;
	struct sim_plugin_comm plugin;
};

static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

static unsigned char sum_of(const ncclUniqueId *id)
{
	unsigned char sum = 0;

	for (size_t i = 0; i < sizeof(id->internal) - 1; i++) {
		sum = (unsigned char)(sum * 31 + (unsigned char)id->internal[i]);
	}
	return sum;
}

int ncclGetUniqueId(ncclUniqueId *id)
{
	static _Atomic unsigned count;
	unsigned seed = (unsigned)getpid() * 65537u + ++count;

	for (size_t i = 0; i < sizeof(id->internal) - 1; i++) {
		seed = seed * 1664525u + 1013904223u;
		id->internal[i] = (char)(seed >> 24);
	}
	id->internal[sizeof(id->internal) - 1] = (char)sum_of(id);
	return SIM_NCCL_SUCCESS;
}

static int make(ncclComm_t *comm, int ranks, int rank)
{
	*comm = ranks > 0 && rank >= 0 && rank < ranks ? calloc(1, sizeof(**comm)) : NULL;
	if (!*comm) {
		return SIM_NCCL_INVALID_ARGUMENT;
	}
	static _Atomic uint64_t made;
	(*comm)->ranks = ranks;
	(*comm)->rank = rank;
	(*comm)->plugin = (struct sim_plugin_comm){
	    .ranks = ranks, .rank = rank, .hash = 0xabcdef0000000000u + (++made << 16)};
	sim_plugin_open(&(*comm)->plugin);
	return SIM_NCCL_SUCCESS;
}

int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
	/* The id has come over whole, or somebody between us and the caller has cut it. */
	bool whole = (char)sum_of(&id) == id.internal[sizeof(id.internal) - 1];

	*comm = NULL;
	return whole ? make(comm, ranks, rank) : SIM_NCCL_INVALID_ARGUMENT;
}

int ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
			   struct sim_nccl_config *config)
{
	bool whole = (char)sum_of(&id) == id.internal[sizeof(id.internal) - 1];
	int result = whole ? make(comm, ranks, rank) : SIM_NCCL_INVALID_ARGUMENT;

	return result == SIM_NCCL_SUCCESS && config && !config->blocking ? SIM_NCCL_IN_PROGRESS
									 : result;
}

int ncclCommInitAll(ncclComm_t *comms, int count, const int *devices)
{
	int result = devices ? SIM_NCCL_SUCCESS : SIM_NCCL_INVALID_ARGUMENT;

	for (int i = 0; i < count && result == SIM_NCCL_SUCCESS; i++) {
		result = make(&comms[i], count, i);
	}
	return result;
}

/* As if every rank of the parent had given the same color and its own rank as key. */
int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
		  struct sim_nccl_config *config)
{
	(void)config;
	*child = NULL;
	return color < 0 ? SIM_NCCL_SUCCESS : make(child, comm->ranks, key);
}

int ncclCommDestroy(ncclComm_t comm)
{
	if (comm) {
		sim_plugin_close(&comm->plugin);
	}
	free(comm);
	return comm ? SIM_NCCL_SUCCESS : SIM_NCCL_INVALID_ARGUMENT;
}

int ncclCommAbort(ncclComm_t comm)
{
	if (comm) {
		sim_plugin_close(&comm->plugin);
	}
	free(comm);
	return SIM_NCCL_SUCCESS;
}

int ncclCommCount(ncclComm_t comm, int *ranks)
{
	*ranks = comm->ranks;
	return SIM_NCCL_SUCCESS;
}

int ncclCommUserRank(ncclComm_t comm, int *rank)
{
	*rank = comm->rank;
	return SIM_NCCL_SUCCESS;
}

static int copy(const void *from, void *to, size_t count, int type, ncclComm_t comm)
{
	if (!comm || type < 0 || (size_t)type >= sizeof(sizes) / sizeof(sizes[0])) {
		return SIM_NCCL_INVALID_ARGUMENT;
	}
	memmove(to, from, count * sizes[type]);
	return SIM_NCCL_SUCCESS;
}

static int operate(const char *func, const void *from, void *to, size_t count, int type,
		   ncclComm_t comm)
{
	int result = copy(from, to, count, type, comm);

	if (result == SIM_NCCL_SUCCESS) {
		sim_plugin_operation(&comm->plugin, func, count, type, -1);
	}
	return result;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		  CUstream stream)
{
	(void)stream;
	return op == 0 ? operate("AllReduce", from, to, count, type, comm)
		       : SIM_NCCL_INVALID_ARGUMENT;
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, ncclComm_t comm,
		  CUstream stream)
{
	(void)stream;
	return root == comm->rank ? copy(from, to, count, type, comm) : SIM_NCCL_SUCCESS;
}

int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root,
	       ncclComm_t comm, CUstream stream)
{
	(void)stream;
	(void)op;
	return root == comm->rank ? copy(from, to, count, type, comm) : SIM_NCCL_SUCCESS;
}

int ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t comm,
		  CUstream stream)
{
	(void)stream;
	return operate("AllGather", from, to, count, type, comm);
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		      CUstream stream)
{
	(void)stream;
	(void)op;
	return operate("ReduceScatter", from, to, count, type, comm);
}

int ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm, CUstream stream)
{
	(void)from;
	(void)stream;
	if (peer < 0 || peer >= comm->ranks) {
		return SIM_NCCL_INVALID_ARGUMENT;
	}
	sim_plugin_operation(&comm->plugin, "Send", count, type, peer);
	return SIM_NCCL_SUCCESS;
}

int ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm, CUstream stream)
{
	(void)to;
	(void)stream;
	if (peer < 0 || peer >= comm->ranks) {
		return SIM_NCCL_INVALID_ARGUMENT;
	}
	sim_plugin_operation(&comm->plugin, "Recv", count, type, peer);
	return SIM_NCCL_SUCCESS;
}

int ncclGroupStart(void)
{
	return SIM_NCCL_SUCCESS;
}

int ncclGroupEnd(void)
{
	return SIM_NCCL_SUCCESS;
}

/* The pointer is not the driver's handle. */
int ncclMemAlloc(void **pointer, size_t size)
{
	struct sim_memory_properties properties = {.type = 1, .location_type = 1};
	uint64_t *block = malloc(sizeof(*block));
	size_t rounded = (size + GRANULARITY - 1) / GRANULARITY * GRANULARITY;

	if (!block || cuCtxGetDevice(&properties.location_id) != SIM_SUCCESS ||
	    cuMemCreate(block, rounded, &properties, 0) != SIM_SUCCESS) {
		free(block);
		return 1;
	}
	*pointer = block;
	return SIM_NCCL_SUCCESS;
}

int ncclMemFree(void *pointer)
{
	uint64_t *block = pointer;
	int result = cuMemRelease(*block) == SIM_SUCCESS ? SIM_NCCL_SUCCESS : 1;

	free(block);
	return result;
}
