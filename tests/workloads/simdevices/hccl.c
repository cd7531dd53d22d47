/* A simulated libhccl.so: communicators that know their size and rank, collectives that copy the
 * rank's own data on the stream. */
#include <stdlib.h>
#include <unistd.h>

#include "acl.h"

struct sim_comm {
	uint32_t ranks, rank;
};

/* By HcclDataType; 13 is unused. */
static const uint8_t sizes[] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0, 1, 1, 1, 1};

int HcclGetRootInfo(HcclRootInfo *info)
{
	static unsigned count;
	unsigned seed = (unsigned)getpid() * 65537u + ++count;

	for (size_t i = 0; i < sizeof(info->internal); i++) {
		seed = seed * 1664525u + 1013904223u;
		/* Communicators of a process may differ in the last part only. */
		info->internal[i] = (char)(i < 256 ? 1 : seed >> 24);
	}
	return HCCL_SUCCESS;
}

static int make(uint32_t ranks, uint32_t rank, HcclComm *comm)
{
	*comm = rank < ranks ? calloc(1, sizeof(**comm)) : NULL;
	if (!*comm) {
		return HCCL_E_PARA;
	}
	(*comm)->ranks = ranks;
	(*comm)->rank = rank;
	return HCCL_SUCCESS;
}

int HcclCommInitRootInfo(uint32_t ranks, const HcclRootInfo *info, uint32_t rank, HcclComm *comm)
{
	return info ? make(ranks, rank, comm) : HCCL_E_PARA;
}

int HcclCreateSubCommConfig(HcclComm *comm, uint32_t ranks, uint32_t *ids, uint64_t number,
			    uint32_t rank, void *configuration, HcclComm *part)
{
	(void)number;
	return *comm && ids && configuration ? make(ranks, rank, part) : HCCL_E_PARA;
}

int HcclCommDestroy(HcclComm comm)
{
	free(comm);
	return comm ? HCCL_SUCCESS : HCCL_E_PARA;
}

int HcclGetRankSize(HcclComm comm, uint32_t *ranks)
{
	*ranks = comm->ranks;
	return HCCL_SUCCESS;
}

int HcclGetRankId(HcclComm comm, uint32_t *rank)
{
	*rank = comm->rank;
	return HCCL_SUCCESS;
}

static int move(const void *from, void *to, uint64_t count, int type, HcclComm comm,
		aclrtStream stream)
{
	if (!comm || type < 0 || (size_t)type >= sizeof(sizes) || sizes[type] == 0) {
		return HCCL_E_PARA;
	}
	return sim_copy(stream, to, from, count * sizes[type]) == 0 ? HCCL_SUCCESS : HCCL_E_PARA;
}

int HcclAllReduce(void *from, void *to, uint64_t count, int type, int op, HcclComm comm,
		  aclrtStream stream)
{
	return op == 0 ? move(from, to, count, type, comm, stream) : HCCL_E_PARA;
}

int HcclBroadcast(void *buffer, uint64_t count, int type, uint32_t root, HcclComm comm,
		  aclrtStream stream)
{
	return root < comm->ranks ? move(buffer, buffer, count, type, comm, stream) : HCCL_E_PARA;
}

int HcclReduceScatter(void *from, void *to, uint64_t count, int type, int op, HcclComm comm,
		      aclrtStream stream)
{
	return op == 0 ? move(from, to, count, type, comm, stream) : HCCL_E_PARA;
}

int HcclScatter(void *from, void *to, uint64_t count, int type, uint32_t root, HcclComm comm,
		aclrtStream stream)
{
	return root < comm->ranks ? move(from, to, count, type, comm, stream) : HCCL_E_PARA;
}

int HcclAllGather(void *from, void *to, uint64_t count, int type, HcclComm comm, aclrtStream stream)
{
	return move(from, to, count, type, comm, stream);
}

int HcclAlltoAll(const void *from, uint64_t count, int type, const void *to, uint64_t to_count,
		 int to_type, HcclComm comm, aclrtStream stream)
{
	return count == to_count && type == to_type
		   ? move(from, (void *)(uintptr_t)to, count, type, comm, stream)
		   : HCCL_E_PARA;
}

int HcclAlltoAllV(const void *from, const void *counts, const void *places, int type,
		  const void *to, const void *to_counts, const void *to_places, int to_type,
		  HcclComm comm, aclrtStream stream)
{
	bool sound = counts && places && to_counts && to_places && type == to_type;

	return sound ? move(from, (void *)(uintptr_t)to, ((const uint64_t *)counts)[comm->rank],
			    type, comm, stream)
		     : HCCL_E_PARA;
}

int HcclBarrier(HcclComm comm, aclrtStream stream)
{
	(void)stream;
	return comm ? HCCL_SUCCESS : HCCL_E_PARA;
}

int HcclSend(void *from, uint64_t count, int type, uint32_t peer, HcclComm comm, aclrtStream stream)
{
	(void)count;
	(void)type;
	(void)stream;
	return from && peer < comm->ranks ? HCCL_SUCCESS : HCCL_E_PARA;
}

int HcclRecv(void *to, uint64_t count, int type, uint32_t peer, HcclComm comm, aclrtStream stream)
{
	return HcclSend(to, count, type, peer, comm, stream);
}
