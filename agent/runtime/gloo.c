#include "agent/runtime/gloo.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/record/process.h"
#include "agent/runtime/comms.h"
#include "agent/runtime/operand.h"

/* Its rank and size stand behind the address of a vtable. That belongs to gloo::Context, or to the
 * class of the rendezvous that inherits from it: by version, options point to the vtable's address
 * or to the sizes. */
#define SIZES_AT (sizeof(void *))

static _Atomic uint32_t made; /* contexts with all ranks of the job */

/* Returns whether the rank and size at AT are those of this process in its job. */
static bool has_all_ranks(const char *at)
{
	int32_t sizes[2];

	__builtin_memcpy(sizes, at, sizeof(sizes));
	return sizes[1] > 1 && sizes[0] == hk_process.writer.header->rank &&
	       sizes[1] == hk_process.writer.header->world_size;
}

static uint64_t new_context(const struct hk_call *call, uint64_t context)
{
	uint64_t number = 0;

	if (!hk_operand_is_readable(call, context, SIZES_AT + sizeof(uint64_t))) {
		return 0;
	}
	if (has_all_ranks((const char *)context + SIZES_AT)) {
		uint32_t order = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
		number = order == 0 ? HK_COMM_WORLD : hk_comms_mix(HK_COMM_WORLD + order);
	}
	hk_comms_set(context, number);
	hk_comms_set(context + SIZES_AT, number);
	return number;
}

static uint64_t number_of(const struct hk_call *call, uint64_t options)
{
	uint64_t context = 0;

	if (hk_operand_is_readable(call, options, sizeof(context))) {
		__builtin_memcpy(&context, (const void *)options, sizeof(context));
	}
	const struct hk_comm *comm = hk_comms_known(context);
	return comm ? hk_comms_hash(comm) : 0;
}

uint64_t hk_gloo_factor(const struct hk_call *call, const struct hk_factor *factor)
{
	uint64_t address = hk_operand_register(call, factor->arg);

	return factor->kind == HK_FACTOR_NEW_CONTEXT ? new_context(call, address)
						     : number_of(call, address);
}
