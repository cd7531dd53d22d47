#include "agent/runtime/operand.h"

#include "agent/frame/site_table.h"
#include "agent/frame/state.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"

#define PAGE 4096u /* or part of a page */

bool hk_operand_is_readable(const struct hk_call *call, uint64_t address, size_t bytes)
{
	if (call->site->hook->flags & HK_HOOK_TRUSTED) {
		return address != 0; /* optional arguments of Fortran may be NULL */
	}
	uint64_t last = address + bytes - 1;
	if (!address || last < address || hk_process.sealed) {
		return false;
	}
	for (uint64_t at = address; at < last; at = (at | (PAGE - 1)) + 1) {
		if (!hk_state_is_readable(at)) {
			return false;
		}
	}
	return hk_state_is_readable(last);
}

/* Returns the bytes of a value of TYPE in memory. */
static size_t width(uint8_t type)
{
	switch (type) {
	case HK_TYPE_INT:
	case HK_TYPE_FD:
	case HK_TYPE_UINT:
	case HK_TYPE_MPI_DATATYPE: /* a Fortran handle */
	case HK_TYPE_MPI_COMM:
		return sizeof(uint32_t);
	default:
		return sizeof(uint64_t);
	}
}

uint64_t hk_operand_dereference(const struct hk_call *call, uint64_t address, uint8_t type)
{
	size_t bytes = width(type);
	if (!hk_operand_is_readable(call, address, bytes)) {
		return 0;
	}
	if (bytes == sizeof(uint64_t)) {
		return *(const uint64_t *)address;
	}
	return hk_word_widen(*(const uint32_t *)address, type);
}

const uint64_t *hk_operand_memory(const struct hk_call *call, uint8_t number)
{
#if !defined(__aarch64__)
	const struct hk_hook_arg *arg = &call->site->hook->args[number];
	if (arg->type == HK_TYPE_STRUCT) {
		return (const uint64_t *)(const void *)call + hk_word_of_argument(arg);
	}
#endif
	return (const uint64_t *)hk_operand_register(call, number);
}

bool hk_operand_is_within(const struct hk_call *call, bool (*like)(const struct hk_hook *hook))
{
	const struct hk_thread_slot *slot = call->thread->slot;
	uint32_t oldest = call->depth + 1 > HK_OPEN_CALLS ? call->depth + 1 - HK_OPEN_CALLS : 0;
	for (uint32_t depth = call->depth; depth > oldest; depth--) {
		const struct hk_site_hot *site =
		    hk_site_table_find(slot->open[(depth - 1) % HK_OPEN_CALLS].site);
		if (site && (site->flags & HK_HOT_RECORD) && like(site->hook)) {
			return true;
		}
	}
	return false;
}
