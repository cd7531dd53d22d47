#include "agent/runtime/values.h"

#include "agent/compat/compat.h"
#include "agent/frame/message.h"
#include "agent/frame/state.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "agent/runtime/comms.h"
#include "agent/runtime/cuda.h"
#include "agent/runtime/mpi.h"
#include "agent/runtime/nccl.h"

#define RESULT_WORD (offsetof(struct hk_call, result) / 8)
#define STACK_WORD (offsetof(struct hk_call, stack) / 8)
#define PAGE 4096u /* or a part of one */

/* HK_WORD_*, by type; 0: all 64 bits are the value's. */
static const uint8_t widening[] = {
    [HK_TYPE_INT] = HK_WORD_SIGN32,
    [HK_TYPE_FD] = HK_WORD_SIGN32,
    [HK_TYPE_NCCL_DATATYPE] = HK_WORD_SIGN32,
    [HK_TYPE_UINT] = HK_WORD_ZERO32,
    [HK_TYPE_HANDLE] = 0,
};

static inline uint64_t widen_as(uint64_t value, uint8_t how)
{
	return how == HK_WORD_SIGN32   ? (uint64_t)(int64_t)(int32_t)value
	       : how == HK_WORD_ZERO32 ? (uint32_t)value
				       : value;
}

uint64_t hk_values_widen(uint64_t value, uint8_t type)
{
	return widen_as(value, widening[type]);
}

static inline uint32_t argument_word(const struct hk_hook_arg *arg)
{
	return arg->place == HK_PLACE_INTEGER ? arg->index : (uint32_t)STACK_WORD + arg->index;
}

bool hk_values_plain_word(const struct hk_hook *hook, const struct hk_value *value,
			  uint8_t *ret_word)
{
	const struct hk_factor *factor = &value->factors[0];
	if (value->factor_count != 1) {
		return false;
	}
	if (factor->kind == HK_FACTOR_RESULT) {
		*ret_word = (uint8_t)(RESULT_WORD | widening[hook->result]);
		return true;
	}
	if (factor->kind != HK_FACTOR_ARG) {
		return false;
	}
	const struct hk_hook_arg *arg = &hook->args[factor->arg];
	if (arg->place == HK_PLACE_FLOAT || argument_word(arg) >= HK_WORD_INDEX) {
		return false;
	}
	*ret_word = (uint8_t)(argument_word(arg) | widening[arg->type]);
	if (arg->reference) {
		*ret_word |= HK_WORD_POINTEE;
		return arg->type == HK_TYPE_INT && (hook->flags & HK_HOOK_TRUSTED);
	}
	return true;
}

/* Where each value of HOOK is found that is plain; whether all of them are. */
static bool plain_words(const struct hk_hook *hook, uint8_t word[HK_HOOK_VALUES])
{
	/* Of device memory the call has to look around: see is_within(). */
	bool plain = hk_hook_memory(hook->flags) == HK_MEMORY_HOST;
	for (uint32_t i = 0; i < hook->value_count; i++) {
		if (!hk_values_plain_word(hook, &hook->values[i], &word[i])) {
			word[i] = HK_WORD_NONE;
			plain = false;
		}
	}
	return plain;
}

uint8_t hk_values_flags(const struct hk_site_hot *hot)
{
	const struct hk_hook *hook = hot->hook;
	uint8_t word[HK_HOOK_VALUES];
	bool record = hot->level >= HK_LEVEL_RECORD;
	bool plain = plain_words(hook, word), bytes = hot->bytes < HK_HOOK_VALUES;
	/* New communicators are followed whatever the level, or later hashes would be wrong. */
	bool wanted = hook->value_count && (record || bytes || hook->meaning == HK_MEANING_COMM);
	bool error = hook->error != HK_ERROR_NEVER, null = hook->error == HK_ERROR_NULL;
	bool arguments = hot->level >= HK_LEVEL_ARGS;
	/* What becomes of communicators, and what stands for calls that are not timed, is noted on
	 * the long way out. */
	bool quick = hot->level > HK_LEVEL_SAMPLE && !arguments && !hk_compat_prints &&
		     hook->meaning != HK_MEANING_COMM;
	bool usual = quick && (!wanted || (plain && !bytes)) && (!error || null) &&
		     !(hot->stack_words & HK_STACK_WORDS_WORK);
	return (uint8_t)((record ? HK_HOT_RECORD : 0) | (plain ? HK_HOT_SIMPLE : 0) |
			 (wanted ? HK_HOT_VALUES : 0) | (quick ? HK_HOT_QUICK : 0) |
			 (null ? HK_HOT_NULL : 0) | (arguments ? HK_HOT_ARGUMENTS : 0) |
			 (usual ? 0 : HK_HOT_UNUSUAL));
}

void hk_values_prepare(struct hk_site_hot *hot)
{
	plain_words(hot->hook, hot->word);
	hot->payload = hot->hook->value_count;
	hot->bytes = HK_HOOK_VALUES;
	for (uint8_t i = 0; i < hot->payload; i++) {
		hot->bytes = hot->hook->values[i].key == HK_KEY_BYTES ? i : hot->bytes;
	}
	hot->word1 = hk_record_word1(0, hot->index, HK_RECORD_CALL, hot->payload);
	hot->flags = hk_values_flags(hot);
	hot->message = hot->flags & HK_HOT_SIMPLE ? NULL : hk_message_plan(hot->hook);
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

static uint64_t pointee(const struct hk_call *call, uint8_t argument)
{
	const uint64_t *out = (const uint64_t *)call->integer[argument];
	/* posix_memalign leaves its argument alone when it fails. */
	bool readable =
	    !hk_values_failed(call) && hk_values_is_readable(call, (uint64_t)out, sizeof(*out));
	return readable ? *out : 0;
}

/* A factor that needs no answer of the host's libraries, or one that was kept. */
static bool factor_known(const struct hk_call *call, const struct hk_factor *factor,
			 uint64_t *ret_value)
{
	switch (factor->kind) {
	case HK_FACTOR_ARG:
		*ret_value = hk_values_argument(call, factor->arg);
		return true;
	case HK_FACTOR_CONST:
		*ret_value = factor->constant;
		return true;
	case HK_FACTOR_RESULT:
		*ret_value = hk_values_widen(call->result, call->site->hook->result);
		return true;
	case HK_FACTOR_POINTEE:
		*ret_value = pointee(call, factor->arg);
		return true;
	case HK_FACTOR_WORD:
	case HK_FACTOR_INT:
		*ret_value = field(call, factor);
		return true;
	case HK_FACTOR_TYPE_SIZE:
	case HK_FACTOR_SENT:
	case HK_FACTOR_COMM:
	case HK_FACTOR_SENDER:
	case HK_FACTOR_STATUS_SENDER:
	case HK_FACTOR_IS_ROOT:
		return hk_mpi_known(call, factor, hk_values_argument(call, factor->arg), ret_value);
	case HK_FACTOR_NCCL_SIZE:
	case HK_FACTOR_NCCL_COMM:
		*ret_value = hk_nccl_factor(call, factor);
		return true;
	default:
		return false;
	}
}

static uint64_t factor_asked(struct hk_call *call, const struct hk_factor *factor)
{
	switch (factor->kind) {
	case HK_FACTOR_DEVICE:
	case HK_FACTOR_STREAM_DEVICE:
		return hk_cuda_factor(call, factor);
	case HK_FACTOR_NCCL_RANKS:
	case HK_FACTOR_NCCL_IS_ROOT:
	case HK_FACTOR_NCCL_NEW_COMM:
	case HK_FACTOR_NCCL_NEW_COMMS:
	case HK_FACTOR_NCCL_SPLIT:
	case HK_FACTOR_NCCL_NEW_RANK:
		return hk_nccl_factor(call, factor);
	default:
		return hk_mpi_factor(call, factor);
	}
}

/* False if the product needs an answer and MAY_ASK is false. */
static inline bool product_of(struct hk_call *call, const struct hk_value *value, bool may_ask,
			      uint64_t *ret_product)
{
	uint64_t product = 1;
	for (uint32_t f = 0; f < value->factor_count && product; f++) {
		const struct hk_factor *factor = &value->factors[f];
		uint64_t one;
		if (!factor_known(call, factor, &one)) {
			if (!may_ask) {
				return false;
			}
			one = factor_asked(call, factor);
		}
		product *= one;
	}
	*ret_product = product;
	return true;
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

static bool evaluate(struct hk_call *call, bool may_ask, uint64_t values[HK_HOOK_VALUES])
{
	const struct hk_site_hot *site = call->site;
	const struct hk_hook *hook = site->hook;
	for (uint32_t i = 0; i < site->payload; i++) {
		if (site->word[i] != HK_WORD_NONE) {
			values[i] = hk_values_plain(call, site->word[i]);
		} else if (!product_of(call, &hook->values[i], may_ask, &values[i])) {
			return false;
		}
	}
	if (!is_device_memory(hook) || !is_within(call)) {
		return true;
	}
	for (uint32_t i = 0; i < hook->value_count; i++) {
		uint8_t key = hook->values[i].key;
		values[i] = key == HK_KEY_POINTER || key == HK_KEY_SIZE ? 0 : values[i];
	}
	return true;
}

bool hk_values_known(struct hk_call *call, uint64_t values[HK_HOOK_VALUES])
{
	return evaluate(call, false, values);
}

/* The host's libraries run, and may call hooked functions: those calls pass through. */
static int ask(void *asked, void *values)
{
	struct hk_call *call = asked;
	struct hk_thread *thread = call->thread;
	uint32_t inside = hk_inside;
	thread->asking = (uint64_t)&call->caller_frame;
	hk_inside = 2;
	uint64_t inner = thread->inner;
	int32_t countdown = thread->countdown;
	thread->ready = 0;
	thread->countdown = 0;
	thread->inner = 0;
	evaluate(call, true, values);
	if (!hk_process_forked()) {
		thread->inner = inner;
		thread->countdown = countdown;
		thread->ready = 1;
	}
	hk_inside = inside;
	thread->asking = 0;
	return 0;
}

/* Whether the result is in a vector or x87 register for all that is known: those registers are the
 * only ones of their kind that a call leaves to its caller. */
static bool may_return_vector(const struct hk_hook *hook)
{
	return !(hook->flags & HK_HOOK_TRUSTED) || hook->result == HK_TYPE_FLOAT ||
	       hook->result == HK_TYPE_DOUBLE;
}

void hk_values_read(struct hk_call *call, uint64_t values[HK_HOOK_VALUES])
{
	if (evaluate(call, false, values)) {
		return;
	}
	if (may_return_vector(call->site->hook)) {
		hk_state_saved(ask, call, values);
	} else {
		ask(call, values);
	}
}
