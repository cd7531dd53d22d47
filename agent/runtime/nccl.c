#include "agent/runtime/nccl.h"

#include <stddef.h>

#include "agent/object/find.h"
#include "agent/record/process.h"
#include "agent/runtime/comms.h"
#include "agent/runtime/operand.h"

#define ID_BYTES 128u	      /* bytes of an ncclUniqueId */
#define ROOT_INFO_BYTES 4104u /* whole words of an HcclRootInfo */
#define COMMS_AT_ONCE 4096    /* most communicators made at once; a higher count is garbage */

typedef int of_comm(const void *comm, int *number);

/* Bytes of each ncclDataType_t: int8 uint8 int32 uint32 int64 uint64 float16 float32 float64
 * bfloat16 float8e4m3 float8e5m2. */
static const uint8_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/* HCCL's follow NCCL's in the same order. */
enum entry { COMM_COUNT, COMM_USER_RANK, HCCL_RANKS, HCCL_RANK, ENTRIES };

static struct hk_find_kept entries[ENTRIES] = {
    [COMM_COUNT] = {.name = "ncclCommCount"},
    [COMM_USER_RANK] = {.name = "ncclCommUserRank"},
    [HCCL_RANKS] = {.name = "HcclGetRankSize"},
    [HCCL_RANK] = {.name = "HcclGetRankId"},
};

void hk_nccl_setup(void)
{
	hk_find_register(entries, ENTRIES);
}

static bool is_hccl(const struct hk_call *call)
{
	return call->site->hook->runtime == HK_RUNTIME_ACL;
}

static int ask(const struct hk_call *call, enum entry entry, uint64_t comm, int unknown)
{
	void *address;
	int number = unknown;
	uint32_t at = entry + (is_hccl(call) ? HCCL_RANKS : 0u);
	return comm && hk_find_keep(&entries[at], &address) == 0 &&
		       ((of_comm *)address)((const void *)comm, &number) == 0
		   ? number
		   : unknown;
}

static uint64_t ranks_of(const struct hk_call *call, uint64_t comm)
{
	int ranks = ask(call, COMM_COUNT, comm, 0);
	return ranks > 0 ? (uint64_t)ranks : 0;
}

static int rank_in(const struct hk_call *call, uint64_t comm)
{
	return ask(call, COMM_USER_RANK, comm, -1);
}

static uint64_t is_root(const struct hk_call *call, int root, uint64_t comm)
{
	return root >= 0 && rank_in(call, comm) == root;
}

static uint64_t new_comm(const uint64_t *at, const void *id, uint32_t id_bytes)
{
	uint64_t hash = 0, word;
	if (!at || !*at || !id) {
		return 0;
	}
	for (uint32_t i = 0; i < id_bytes; i += sizeof(word)) {
		__builtin_memcpy(&word, (const char *)id + i,
				 sizeof(word)); /* the id may have any alignment */
		hash = hk_comms_mix(hash + word);
	}
	hk_comms_set(*at, hash);
	return hash;
}

/* Makes a number for communicators whose members are all in this process: from the process's uid
 * and the first handle. */
static uint64_t new_comms(const uint64_t *handles, int count)
{
	if (!handles || count <= 0 || count > COMMS_AT_ONCE) {
		return 0;
	}
	uint64_t uid;
	__builtin_memcpy(&uid, hk_process.writer.header->uid, sizeof(uid));
	uint64_t hash = hk_comms_mix(hk_comms_mix(uid) + handles[0]);
	for (int i = 0; i < count; i++) {
		hk_comms_set(handles[i], hash);
	}
	return hash;
}

/* Every rank of the parent counts a call of NCCL's, even a rank that joins no new communicator.
 * Only members call HCCL's, whose COLOUR has no second use. */
static uint64_t split(const uint64_t *at, uint64_t parent, uint64_t colour, bool counts)
{
	uint64_t child = 0;
	uint64_t hash = hk_comms_get(parent, 0, counts ? &child : NULL);
	if (!at || !*at) {
		return 0;
	}
	hash = hk_comms_mix(hk_comms_mix(hash + child) + colour);
	hk_comms_set(*at, hash);
	return hash;
}

/* Bytes of a data type, by the `types` line of the hook's file or else by NCCL's table. */
static uint64_t size_of(const struct hk_call *call, uint32_t type)
{
	const char *own = call->site->hook->type_sizes;
	if (!own) {
		return type < sizeof(sizes) ? sizes[type] : 0;
	}
	for (uint32_t i = 0; own[i]; i++) {
		if (i == type) {
			return (uint64_t)(own[i] - '0');
		}
	}
	return 0;
}

uint64_t hk_nccl_factor(const struct hk_call *call, const struct hk_factor *factor)
{
	/* A failed call still shows its communicator. */
	if (hk_operand_failed(call) && factor->kind != HK_FACTOR_NCCL_COMM) {
		return 0;
	}
	uint64_t first = hk_operand_register(call, factor->arg);
	switch (factor->kind) {
	case HK_FACTOR_NCCL_SIZE:
		return size_of(call, (uint32_t)first);
	case HK_FACTOR_NCCL_RANKS:
		return ranks_of(call, hk_operand_argument(call, factor->arg));
	case HK_FACTOR_NCCL_SUM:
		return ranks_of(call, hk_operand_argument(call, factor->arg2));
	case HK_FACTOR_NCCL_IS_ROOT:
		return is_root(call, (int)first, hk_operand_argument(call, factor->arg2));
	case HK_FACTOR_NCCL_COMM:
		return hk_comms_get(hk_operand_argument(call, factor->arg), 0, NULL);
	case HK_FACTOR_NCCL_NEW_COMM:
		return new_comm((const uint64_t *)first, hk_operand_memory(call, factor->arg2),
				is_hccl(call) ? ROOT_INFO_BYTES : ID_BYTES);
	case HK_FACTOR_NCCL_NEW_COMMS:
		return new_comms((const uint64_t *)first,
				 (int)hk_operand_argument(call, factor->arg2));
	case HK_FACTOR_NCCL_NEW_RANK:
		return (uint64_t)(int64_t)(first ? rank_in(call, *(const uint64_t *)first) : -1);
	case HK_FACTOR_NCCL_SPLIT:
		return split((const uint64_t *)first, hk_operand_argument(call, factor->arg2),
			     hk_operand_argument(call, factor->arg3), !is_hccl(call));
	default:
		return 0;
	}
}
