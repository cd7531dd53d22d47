#include "agent/runtime/mpi.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/frame/hot.h"
#include "agent/object/find.h"
#include "agent/object/loader.h"
#include "agent/record/process.h"
#include "agent/runtime/comms.h"
#include "agent/runtime/operand.h"

#define RANKS_AT_ONCE 64

/* Handles compiled into MPICH and its derivatives. Those of Open MPI are addresses, found by their
 * Fortran numbers. */
#define MPICH_COMM_WORLD 0x44000000u
#define MPICH_COMM_SELF 0x44000001u
#define MPICH_COMM_NULL 0x04000000u
#define MPICH_ROOT (-3)
#define MPICH_IN_PLACE (~0ULL)
#define MPICH_ANY_SOURCE (-2)
#define MPICH_STATUS_IGNORE 1u
#define MPICH_STATUS_SOURCE 2u /* number of ints before the source in a status */
#define OMPI_FORTRAN_WORLD 0u
#define OMPI_FORTRAN_SELF 1u
#define OMPI_FORTRAN_NULL 2u
#define OMPI_ROOT (-4)
#define OMPI_IN_PLACE 1ULL
#define OMPI_ANY_SOURCE (-1)
#define OMPI_STATUS_IGNORE 0u
#define OMPI_STATUS_SOURCE 0u

#define HASH_SELF 0xc3a5c85c97cb3127ULL

/* Entry points of the library. Handles are passed in 64-bit registers, whatever their width. */
static struct library {
	uint64_t found;	   /* hk_loader_unloads() when they were found, plus 1 */
	bool usable, wide; /* wide: handles are pointers (Open MPI) */
	int (*type_size)(uint64_t type, int *size);
	int (*type_get_envelope)(uint64_t type, int *integers, int *addresses, int *types,
				 int *how);
	int (*comm_size)(uint64_t comm, int *size);
	int (*comm_rank)(uint64_t comm, int *rank);
	int (*comm_test_inter)(uint64_t comm, int *flag);
	int (*comm_remote_size)(uint64_t comm, int *size);
	int (*comm_group)(uint64_t comm, uint64_t *group);
	int (*group_size)(uint64_t group, int *size);
	int (*group_translate_ranks)(uint64_t from, int count, const int *ranks, uint64_t to,
				     int *out);
	int (*group_free)(uint64_t *group);
	uint64_t (*comm_f2c)(uint64_t comm);
	uint64_t (*type_f2c)(uint64_t type);
	uint64_t world, self, null;
	const void *fortran_in_place;
} mpi;

struct hk_mpi_kept hk_mpi_kept;

/* Functions looked up in every scan. The library is usable if the first NEEDED are found. */
enum entry {
	TYPE_SIZE,
	TYPE_GET_ENVELOPE,
	COMM_SIZE,
	COMM_RANK,
	COMM_TEST_INTER,
	COMM_REMOTE_SIZE,
	COMM_GROUP,
	GROUP_SIZE,
	GROUP_TRANSLATE_RANKS,
	GROUP_FREE,
	NEEDED,
	COMM_F2C = NEEDED,
	TYPE_F2C,
	OMPI_ONLY,
	FORTRAN_IN_PLACE,
	ENTRIES,
};

static struct hk_find_kept entries[ENTRIES] = {
    [TYPE_SIZE] = {.name = "PMPI_Type_size"},
    [TYPE_GET_ENVELOPE] = {.name = "PMPI_Type_get_envelope"},
    [COMM_SIZE] = {.name = "PMPI_Comm_size"},
    [COMM_RANK] = {.name = "PMPI_Comm_rank"},
    [COMM_TEST_INTER] = {.name = "PMPI_Comm_test_inter"},
    [COMM_REMOTE_SIZE] = {.name = "PMPI_Comm_remote_size"},
    [COMM_GROUP] = {.name = "PMPI_Comm_group"},
    [GROUP_SIZE] = {.name = "PMPI_Group_size"},
    [GROUP_TRANSLATE_RANKS] = {.name = "PMPI_Group_translate_ranks"},
    [GROUP_FREE] = {.name = "PMPI_Group_free"},
    [COMM_F2C] = {.name = "PMPI_Comm_f2c"},
    [TYPE_F2C] = {.name = "PMPI_Type_f2c"},
    [OMPI_ONLY] = {.name = "ompi_comm_split"},
    [FORTRAN_IN_PLACE] = {.name = "mpi_fortran_in_place_", .is_variable = true},
};

void hk_mpi_setup(void)
{
	hk_find_register(entries, ENTRIES);
}

/* Returns 0, or -EBUSY. */
static int find_functions(struct library *library)
{
	void *addresses[ENTRIES] = {NULL};
	library->usable = true;
	for (unsigned i = 0; i < ENTRIES; i++) {
		int r = hk_find_keep(&entries[i], &addresses[i]);
		if (r == -EBUSY) {
			return r;
		}
		library->usable &= i >= NEEDED || r == 0;
	}
	*(void **)&library->type_size = addresses[TYPE_SIZE];
	*(void **)&library->type_get_envelope = addresses[TYPE_GET_ENVELOPE];
	*(void **)&library->comm_size = addresses[COMM_SIZE];
	*(void **)&library->comm_rank = addresses[COMM_RANK];
	*(void **)&library->comm_test_inter = addresses[COMM_TEST_INTER];
	*(void **)&library->comm_remote_size = addresses[COMM_REMOTE_SIZE];
	*(void **)&library->comm_group = addresses[COMM_GROUP];
	*(void **)&library->group_size = addresses[GROUP_SIZE];
	*(void **)&library->group_translate_ranks = addresses[GROUP_TRANSLATE_RANKS];
	*(void **)&library->group_free = addresses[GROUP_FREE];
	*(void **)&library->comm_f2c = addresses[COMM_F2C];
	*(void **)&library->type_f2c = addresses[TYPE_F2C];
	library->wide = addresses[COMM_F2C] && addresses[TYPE_F2C] && addresses[OMPI_ONLY];
	library->fortran_in_place = addresses[FORTRAN_IN_PLACE];
	return 0;
}

static void look_up(uint64_t found)
{
	struct library now = {.found = found};
	if (find_functions(&now) < 0) {
		return; /* the next call tries again */
	}
	now.world = now.wide ? now.comm_f2c(OMPI_FORTRAN_WORLD) : MPICH_COMM_WORLD;
	now.self = now.wide ? now.comm_f2c(OMPI_FORTRAN_SELF) : MPICH_COMM_SELF;
	now.null = now.wide ? now.comm_f2c(OMPI_FORTRAN_NULL) : MPICH_COMM_NULL;
	/* A library that replaced another one may have other types. Threads that look it up at the
	 * same time find the same. */
	if (hk_process_lock()) {
		mpi = now;
		hk_mpi_kept.found = 0;
		atomic_thread_fence(memory_order_release);
		hk_mpi_kept.handle_bits = now.wide ? ~0ULL : UINT32_MAX;
		hk_mpi_kept.in_place = now.wide ? OMPI_IN_PLACE : MPICH_IN_PLACE;
		for (uint32_t i = 0; i < HK_MPI_TYPES; i++) {
			atomic_store_explicit(&hk_mpi_kept.types[i].handle, 0,
					      memory_order_relaxed);
		}
		hk_comms_forget_roots();
		atomic_thread_fence(memory_order_release);
		hk_mpi_kept.found = now.usable ? found : 0;
		hk_process_unlock();
	}
}

/* Returns whether the current library can be called. Functions of an unloaded library are not used.
 */
static bool is_usable(void)
{
	uint64_t now = hk_loader_unloads() + 1;
	if (mpi.found != now) {
		look_up(now);
	}
	return mpi.found == now && mpi.usable;
}

bool hk_mpi_is_wide(void)
{
	return is_usable() && mpi.wide;
}

/* Converts a handle argument to the form of C. */
static uint64_t c_comm(const struct hk_call *call, uint64_t handle)
{
	bool fortran = call->site->hook->flags & HK_HOOK_FORTRAN;
	return fortran && mpi.wide ? mpi.comm_f2c(handle) : mpi.wide ? handle : (uint32_t)handle;
}

static uint64_t c_type(const struct hk_call *call, uint64_t handle)
{
	bool fortran = call->site->hook->flags & HK_HOOK_FORTRAN;
	return fortran && mpi.wide ? mpi.type_f2c(handle) : mpi.wide ? handle : (uint32_t)handle;
}

static uint64_t comm_argument(const struct hk_call *call, uint8_t number)
{
	return c_comm(call, hk_operand_argument(call, number));
}

/* Returns whether TYPE is a named type. The handle of a derived type may later mean another type.
 */
static bool is_named(uint64_t type)
{
	int integers, addresses, inner, how;
	return mpi.type_get_envelope(type, &integers, &addresses, &inner, &how) == 0 &&
	       integers == 0 && addresses == 0 && inner == 0;
}

static void keep_type(uint64_t type, uint64_t size)
{
	uint32_t at = hk_mpi_type_location(type);
	if (hk_process_lock()) {
		atomic_store_explicit(&hk_mpi_kept.types[at].handle, 0, memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
		atomic_store_explicit(&hk_mpi_kept.types[at].size, size, memory_order_relaxed);
		atomic_store_explicit(&hk_mpi_kept.types[at].handle, type, memory_order_release);
		hk_process_unlock();
	}
}

static uint64_t type_size(uint64_t type)
{
	uint64_t size = 0;
	if (hk_mpi_type_known(type, &size)) {
		return size;
	}
	int bytes = 0;
	if (mpi.type_size(type, &bytes) != 0 || bytes < 0) {
		return 0;
	}
	if (is_named(type)) {
		keep_type(type, (uint64_t)bytes);
	}
	return (uint64_t)bytes;
}

static int peers(uint64_t comm, bool *ret_inter)
{
	int inter = 0, size = 0;
	mpi.comm_test_inter(comm, &inter);
	*ret_inter = inter;
	int status = inter ? mpi.comm_remote_size(comm, &size) : mpi.comm_size(comm, &size);
	return status == 0 ? size : 0;
}

static uint64_t sum(const struct hk_call *call, const struct hk_factor *factor)
{
	const int *counts = (const int *)hk_operand_argument(call, factor->arg);
	bool inter;
	int size = counts ? peers(comm_argument(call, factor->arg2), &inter) : 0;
	uint64_t total = 0;
	if (size < 1 ||
	    !hk_operand_is_readable(call, (uint64_t)counts, (size_t)size * sizeof(*counts))) {
		return 0;
	}
	for (int i = 0; i < size; i++) {
		total += counts[i] > 0 ? (uint64_t)counts[i] : 0;
	}
	return total;
}

static uint64_t handle_at(const void *array, int index)
{
	return mpi.wide ? ((const uint64_t *)array)[index] : ((const uint32_t *)array)[index];
}

static uint64_t sum_typed(const struct hk_call *call, const struct hk_factor *factor)
{
	const int *counts = (const int *)hk_operand_argument(call, factor->arg);
	const void *handles = (const void *)hk_operand_argument(call, factor->arg3);
	bool fortran = call->site->hook->flags & HK_HOOK_FORTRAN;
	bool inter;
	int size = counts && handles ? peers(comm_argument(call, factor->arg2), &inter) : 0;
	uint64_t total = 0;
	size_t bytes = (size_t)(size > 0 ? size : 0) * (mpi.wide && !fortran ? 8u : 4u);
	if (!bytes ||
	    !hk_operand_is_readable(call, (uint64_t)counts, (size_t)size * sizeof(*counts)) ||
	    !hk_operand_is_readable(call, (uint64_t)handles, bytes)) {
		return 0;
	}
	for (int i = 0; i < size; i++) {
		if (counts[i] > 0) {
			uint64_t handle =
			    fortran ? ((const uint32_t *)handles)[i] : handle_at(handles, i);
			total += (uint64_t)counts[i] * type_size(c_type(call, handle));
		}
	}
	return total;
}

static uint64_t is_root(const struct hk_call *call, const struct hk_factor *factor)
{
	int root = (int)hk_operand_argument(call, factor->arg);
	uint64_t comm = comm_argument(call, factor->arg2), moment = hk_comms_moment;
	int inter = 0, own = mpi.wide ? OMPI_ROOT : MPICH_ROOT;
	if (mpi.comm_test_inter(comm, &inter) != 0 || (!inter && mpi.comm_rank(comm, &own) != 0)) {
		return 0;
	}
	hk_comms_keep_root(comm, own, moment);
	return root == own;
}

static uint64_t sent(const struct hk_call *call, uint64_t buffer)
{
	if (call->site->hook->flags & HK_HOOK_FORTRAN) {
		return !mpi.fortran_in_place || buffer != (uint64_t)mpi.fortran_in_place;
	}
	return hk_mpi_is_sent(buffer);
}

static uint64_t first_hash(uint64_t handle)
{
	if (handle == mpi.world) {
		return HK_COMM_WORLD;
	}
	int rank = 0;
	if (handle == mpi.self && mpi.comm_rank(mpi.world, &rank) == 0) {
		return hk_comms_mix(HASH_SELF + (uint64_t)rank);
	}
	return 0; /* the communicator was made by a call that is not hooked */
}

static uint64_t comm_number(uint64_t handle)
{
	return hk_comms_get(handle, first_hash(handle), NULL);
}

static int lowest_of(uint64_t group, uint64_t world)
{
	int size = 0, lowest = -1;
	mpi.group_size(group, &size);
	for (int from = 0; from < size; from += RANKS_AT_ONCE) {
		int ranks[RANKS_AT_ONCE], out[RANKS_AT_ONCE];
		int count = size - from < RANKS_AT_ONCE ? size - from : RANKS_AT_ONCE;
		for (int i = 0; i < count; i++) {
			ranks[i] = from + i;
		}
		if (mpi.group_translate_ranks(group, count, ranks, world, out) != 0) {
			return -1;
		}
		for (int i = 0; i < count; i++) {
			lowest = out[i] >= 0 && (lowest < 0 || out[i] < lowest) ? out[i] : lowest;
		}
	}
	return lowest;
}

static int lowest_world_rank(uint64_t comm)
{
	uint64_t group = 0, world = 0;
	int lowest = -1;
	if (mpi.comm_group(comm, &group) == 0) {
		if (mpi.comm_group(mpi.world, &world) == 0) {
			lowest = lowest_of(group, world);
			mpi.group_free(&world);
		}
		mpi.group_free(&group);
	}
	return lowest;
}

/* Returns the handle that the callee wrote to argument NUMBER, a Fortran number or a C handle of
 * its own width, or 0 for no communicator. */
static uint64_t written_comm(const struct hk_call *call, uint8_t number)
{
	const void *at = (const void *)hk_operand_register(call, number);
	bool fortran = call->site->hook->flags & HK_HOOK_FORTRAN;
	if (!at) {
		return 0;
	}
	uint64_t handle = c_comm(call, fortran ? *(const uint32_t *)at : handle_at(at, 0));
	return handle == mpi.null ? 0 : handle;
}

static uint64_t new_rank(const struct hk_call *call, const struct hk_factor *factor)
{
	uint64_t handle = written_comm(call, factor->arg);
	int rank = -1;
	if (handle && mpi.comm_rank(handle, &rank) != 0) {
		rank = -1;
	}
	return (uint64_t)(int64_t)rank;
}

static int status_source(const struct hk_call *call, uint64_t status)
{
	/* The address of Fortran's MPI_STATUS_IGNORE is unknown here. */
	if (call->site->hook->flags & HK_HOOK_FORTRAN ||
	    status == (mpi.wide ? OMPI_STATUS_IGNORE : MPICH_STATUS_IGNORE) ||
	    !hk_operand_is_readable(call, status, (MPICH_STATUS_SOURCE + 1) * sizeof(int))) {
		return HK_PEER_ANY;
	}
	return ((const int *)status)[mpi.wide ? OMPI_STATUS_SOURCE : MPICH_STATUS_SOURCE];
}

/* Each library has its own numbers for MPI_ANY_SOURCE and MPI_PROC_NULL. */
static uint64_t sender(const struct hk_call *call, const struct hk_factor *factor,
		       uint64_t argument)
{
	int source = (int)argument;
	bool any = source == (mpi.wide ? OMPI_ANY_SOURCE : MPICH_ANY_SOURCE);
	if (any && factor->kind == HK_FACTOR_STATUS_SENDER) {
		int sender = status_source(call, hk_operand_register(call, factor->arg2));
		return (uint64_t)(int64_t)(sender >= 0 ? sender : HK_PEER_ANY);
	}
	return (uint64_t)(int64_t)(any ? HK_PEER_ANY : source >= 0 ? source : HK_PEER_NONE);
}

static uint64_t new_comm(const struct hk_call *call, const struct hk_factor *factor)
{
	uint64_t child = 0;
	uint64_t of = comm_argument(call, factor->arg2);
	uint64_t parent = hk_comms_get(of, first_hash(of), &child);
	uint64_t handle = written_comm(call, factor->arg);
	if (!handle) {
		return 0;
	}
	uint64_t lowest = (uint64_t)(uint32_t)lowest_world_rank(handle);
	uint64_t hash = hk_comms_mix(hk_comms_mix(parent + child) + lowest);
	hk_comms_set(handle, hash);
	return hash;
}

static inline bool succeeded(const struct hk_call *call)
{
	const struct hk_hook *hook = call->site->hook;
	if (!(hook->flags & HK_HOOK_FORTRAN)) {
		return (int32_t)call->result == 0;
	}
	return !hook->arg_count || hk_operand_argument(call, (uint8_t)(hook->arg_count - 1)) == 0;
}

/* Returns whether the call passes handles in the form of C. */
static bool has_c_handle(const struct hk_call *call)
{
	return !mpi.wide || !(call->site->hook->flags & HK_HOOK_FORTRAN);
}

static bool is_comm_known(uint64_t handle, uint64_t *ret_hash)
{
	const struct hk_comm *comm = hk_comms_known(handle);
	*ret_hash = comm ? hk_comms_hash(comm) : 0;
	return comm != NULL;
}

static bool is_root_known(const struct hk_call *call, const struct hk_factor *factor,
			  uint64_t argument, uint64_t *ret_value)
{
	const struct hk_comm *comm = hk_comms_known(comm_argument(call, factor->arg2));
	int32_t own;
	if (!comm || !hk_comms_root(comm, &own)) {
		return false;
	}
	*ret_value = (int32_t)argument == own;
	return true;
}

bool hk_mpi_known(const struct hk_call *call, const struct hk_factor *factor, uint64_t argument,
		  uint64_t *ret_value)
{
	*ret_value = 0;
	if (mpi.found != hk_loader_unloads() + 1) {
		return false;
	}
	if (!mpi.usable || !succeeded(call)) {
		return true;
	}
	uint64_t handle = mpi.wide ? argument : (uint32_t)argument;
	switch (factor->kind) {
	case HK_FACTOR_TYPE_SIZE:
		return has_c_handle(call) && hk_mpi_type_known(handle, ret_value);
	case HK_FACTOR_COMM:
		return has_c_handle(call) && is_comm_known(handle, ret_value);
	case HK_FACTOR_IS_ROOT:
		return has_c_handle(call) && is_root_known(call, factor, argument, ret_value);
	case HK_FACTOR_SENT:
		*ret_value = sent(call, argument);
		return true;
	default:
		*ret_value = sender(call, factor, argument);
		return true;
	}
}

uint64_t hk_mpi_factor(struct hk_call *call, const struct hk_factor *factor)
{
	/* The arguments of a failed call may be invalid: asking MPI about them could abort the job.
	 */
	if (!succeeded(call) || !is_usable()) {
		return 0;
	}
	switch (factor->kind) {
	case HK_FACTOR_TYPE_SIZE:
		return type_size(c_type(call, hk_operand_argument(call, factor->arg)));
	case HK_FACTOR_SUM:
		return sum(call, factor);
	case HK_FACTOR_SUM_TYPED:
		return sum_typed(call, factor);
	case HK_FACTOR_IS_ROOT:
		return is_root(call, factor);
	case HK_FACTOR_SENT:
		return sent(call, hk_operand_argument(call, factor->arg));
	case HK_FACTOR_COMM:
		return comm_number(comm_argument(call, factor->arg));
	case HK_FACTOR_NEW_COMM:
		return new_comm(call, factor);
	case HK_FACTOR_NEW_RANK:
		return new_rank(call, factor);
	case HK_FACTOR_SENDER:
	case HK_FACTOR_STATUS_SENDER:
		return sender(call, factor, hk_operand_argument(call, factor->arg));
	default:
		return 0;
	}
}
