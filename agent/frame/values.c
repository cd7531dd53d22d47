#include "frame/values.h"

#include "compat/compat.h"
#include "frame/cuda.h"
#include "frame/mpi.h"
#include "frame/nccl.h"
#include "frame/state.h"
#include "record/process.h"
#include "record/thread.h"

#define RESULT_WORD (offsetof(struct hk_call, result) / 8)
#define STACK_WORD (offsetof(struct hk_call, stack) / 8)
#define PAGE 4096u /* or a part of one */

static uint8_t widening(uint8_t type)
{
	switch (type) {
	case HK_TYPE_INT:
	case HK_TYPE_FD:
	case HK_TYPE_NCCL_DATATYPE:
		return HK_WORD_SIGN32;
	case HK_TYPE_UINT:
		return HK_WORD_ZERO32;
	default:
		return 0;
	}
}

uint64_t hk_values_widen(uint64_t value, uint8_t type)
{
	uint8_t widen = widening(type);
	return widen == HK_WORD_SIGN32	 ? (uint64_t)(int64_t)(int32_t)value
	       : widen == HK_WORD_ZERO32 ? (uint32_t)value
					 : value;
}

static uint32_t argument_word(const struct hk_hook_arg *arg)
{
	return arg->place == HK_PLACE_INTEGER ? arg->index : (uint32_t)STACK_WORD + arg->index;
}

/* The word of a value that is one by-value integer argument or the result; false for any other. */
static bool plain_word(const struct hk_hook *hook, const struct hk_value *value, uint8_t *ret_word)
{
	const struct hk_factor *factor = &value->factors[0];
	if (value->factor_count != 1) {
		return false;
	}
	if (factor->kind == HK_FACTOR_RESULT) {
		*ret_word = (uint8_t)(RESULT_WORD | widening(hook->result));
		return true;
	}
	if (factor->kind != HK_FACTOR_ARG) {
		return false;
	}
	const struct hk_hook_arg *arg = &hook->args[factor->arg];
	if (arg->reference || arg->place == HK_PLACE_FLOAT || argument_word(arg) > HK_WORD_INDEX) {
		return false;
	}
	*ret_word = (uint8_t)(argument_word(arg) | widening(arg->type));
	return true;
}

/* Where each value of HOOK is found, if all of them are plain. */
static bool plain_words(const struct hk_hook *hook, uint8_t word[HK_HOOK_VALUES])
{
	/* Of device memory the call has to look around: see is_within(). */
	bool plain = hk_hook_memory(hook->flags) == HK_MEMORY_HOST;
	for (uint32_t i = 0; i < hook->value_count; i++) {
		plain &= plain_word(hook, &hook->values[i], &word[i]);
	}
	return plain;
}

uint8_t hk_values_flags(const struct hk_site_hot *hot)
{
	const struct hk_hook *hook = hot->hook;
	uint8_t word[HK_HOOK_VALUES];
	bool record = hot->level >= HK_LEVEL_RECORD;
	bool plain = plain_words(hook, word), bytes = false;
	for (uint32_t i = 0; i < hook->value_count; i++) {
		bytes |= hook->values[i].key == HK_KEY_BYTES;
	}
	/* New communicators are followed whatever the level, or later hashes would be wrong. */
	bool wanted = hook->value_count && (record || bytes || hook->meaning == HK_MEANING_COMM);
	bool error = hook->error != HK_ERROR_NEVER, null = hook->error == HK_ERROR_NULL;
	bool arguments = hot->level >= HK_LEVEL_ARGS;
	bool usual = hot->level > HK_LEVEL_COUNT && (!wanted || (plain && !bytes)) &&
		     (!error || null) && !arguments && !hk_compat_prints;
	return (uint8_t)((record ? HK_HOT_RECORD : 0) | (plain ? HK_HOT_SIMPLE : 0) |
			 (wanted ? HK_HOT_VALUES : 0) | (error ? HK_HOT_ERRORS : 0) |
			 (null ? HK_HOT_NULL : 0) | (arguments ? HK_HOT_ARGUMENTS : 0) |
			 (usual ? 0 : HK_HOT_UNUSUAL));
}

void hk_values_prepare(struct hk_site_hot *hot)
{
	plain_words(hot->hook, hot->word);
	hot->payload = hot->hook->value_count;
	hot->word1 = hk_record_word1(0, hot->index, HK_RECORD_CALL, hot->payload);
	hot->flags = hk_values_flags(hot);
}

bool hk_values_is_readable(const struct hk_call *call, uint64_t address, size_t bytes)
{
	if (call->site->hook->flags & HK_HOOK_TRUSTED) {
		return address != 0; /* Fortran's optional arguments */
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

/* Bytes of a value of TYPE in memory. */
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

static uint64_t dereference(const struct hk_call *call, uint64_t address, uint8_t type)
{
	size_t bytes = width(type);
	if (!hk_values_is_readable(call, address, bytes)) {
		return 0;
	}
	if (bytes == sizeof(uint64_t)) {
		return *(const uint64_t *)address;
	}
	return hk_values_widen(*(const uint32_t *)address, type);
}

uint64_t hk_values_register(const struct hk_call *call, uint8_t number)
{
	const struct hk_hook_arg *arg = &call->site->hook->args[number];
	return ((const uint64_t *)(const void *)call)[argument_word(arg)];
}

const uint64_t *hk_values_memory(const struct hk_call *call, uint8_t number)
{
#if !defined(__aarch64__)
	const struct hk_hook_arg *arg = &call->site->hook->args[number];
	if (arg->type == HK_TYPE_STRUCT) {
		return (const uint64_t *)(const void *)call + argument_word(arg);
	}
#endif
	return (const uint64_t *)hk_values_register(call, number);
}

uint64_t hk_values_argument(const struct hk_call *call, uint8_t number)
{
	const struct hk_hook_arg *arg = &call->site->hook->args[number];
	uint64_t raw = hk_values_register(call, number);
	if (arg->reference) {
		return dereference(call, raw, arg->type);
	}
	return hk_values_widen(raw, arg->type);
}

/* A field of what the host described for the library, or the library for the host. */
static uint64_t field(const struct hk_call *call, const struct hk_factor *factor)
{
	const char *base = (const char *)hk_values_memory(call, factor->arg);
	bool wide = factor->kind == HK_FACTOR_WORD;
	uint64_t word;
	int32_t number;
	if (!base || hk_values_failed(call) ||
	    !hk_values_is_readable(call, (uint64_t)base + factor->constant,
				   wide ? sizeof(word) : sizeof(number))) {
		return 0;
	}
	if (wide) {
		__builtin_memcpy(&word, base + factor->constant, sizeof(word));
		return word;
	}
	__builtin_memcpy(&number, base + factor->constant, sizeof(number));
	return (uint64_t)(int64_t)number;
}

static uint64_t factor_value(struct hk_call *call, const struct hk_factor *factor)
{
	switch (factor->kind) {
	case HK_FACTOR_CONST:
		return factor->constant;
	case HK_FACTOR_ARG:
		return hk_values_argument(call, factor->arg);
	case HK_FACTOR_RESULT:
		return hk_values_plain(call,
				       (uint8_t)(RESULT_WORD | widening(call->site->hook->result)));
	case HK_FACTOR_POINTEE: {
		const uint64_t *out = (const uint64_t *)call->integer[factor->arg];
		/* posix_memalign leaves its argument alone when it fails. */
		return !hk_values_failed(call) &&
			       hk_values_is_readable(call, (uint64_t)out, sizeof(*out))
			   ? *out
			   : 0;
	}
	case HK_FACTOR_WORD:
	case HK_FACTOR_INT:
		return field(call, factor);
	case HK_FACTOR_DEVICE:
	case HK_FACTOR_STREAM_DEVICE:
		return hk_cuda_factor(call, factor);
	case HK_FACTOR_NCCL_SIZE:
	case HK_FACTOR_NCCL_RANKS:
	case HK_FACTOR_NCCL_IS_ROOT:
	case HK_FACTOR_NCCL_COMM:
	case HK_FACTOR_NCCL_NEW_COMM:
	case HK_FACTOR_NCCL_NEW_COMMS:
	case HK_FACTOR_NCCL_SPLIT:
	case HK_FACTOR_NCCL_NEW_RANK:
		return hk_nccl_factor(call, factor);
	default:
		return hk_mpi_factor(call, factor);
	}
}

/* Arguments that do not count for this rank may be garbage: whether they count is asked first, then
 * the cheap factors. */
static uint32_t turn(const struct hk_factor *factor)
{
	switch (factor->kind) {
	case HK_FACTOR_SENT:
		return 0;
	case HK_FACTOR_IS_ROOT:
	case HK_FACTOR_NCCL_IS_ROOT:
		return 1;
	case HK_FACTOR_TYPE_SIZE:
	case HK_FACTOR_SUM:
	case HK_FACTOR_SUM_TYPED:
		return 3;
	default:
		return 2;
	}
}

static uint64_t product_of(struct hk_call *call, const struct hk_value *value)
{
	uint64_t product = 1;
	for (uint32_t now = 0; now <= 3; now++) {
		for (uint32_t f = 0; f < value->factor_count && product; f++) {
			if (turn(&value->factors[f]) == now) {
				product *= factor_value(call, &value->factors[f]);
			}
		}
	}
	return product;
}

static bool is_device_memory(const struct hk_hook *hook)
{
	return hk_hook_memory(hook->flags) != HK_MEMORY_HOST;
}

/* Whether the call is part of another one that allocates or frees device memory and is recorded: a
 * runtime calls the driver, and one of them counts. */
static bool is_within(const struct hk_call *call)
{
	const struct hk_thread_slot *slot = call->thread->slot;
	uint32_t oldest = call->depth + 1 > HK_OPEN_CALLS ? call->depth + 1 - HK_OPEN_CALLS : 0;
	for (uint32_t depth = call->depth; depth > oldest; depth--) {
		uint32_t site = slot->open[(depth - 1) % HK_OPEN_CALLS].site;
		if (site < HK_THUNKS && (hk_hot[site].flags & HK_HOT_RECORD) &&
		    is_device_memory(hk_hot[site].hook)) {
			return true;
		}
	}
	return false;
}

void hk_values_evaluate(struct hk_call *call, uint64_t values[HK_HOOK_VALUES])
{
	const struct hk_hook *hook = call->site->hook;
	for (uint32_t i = 0; i < hook->value_count; i++) {
		values[i] = product_of(call, &hook->values[i]);
	}
	if (!is_device_memory(hook) || !is_within(call)) {
		return;
	}
	for (uint32_t i = 0; i < hook->value_count; i++) {
		uint8_t key = hook->values[i].key;
		values[i] = key == HK_KEY_POINTER || key == HK_KEY_SIZE ? 0 : values[i];
	}
}
