/* values.h: the named values of a call, read from its registers after it returned (hooks/hook.h,
 * struct hk_value). */
#ifndef HK_AGENT_RUNTIME_VALUES_H
#define HK_AGENT_RUNTIME_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"

/* Sets the words and flags of HOT from its hook and level. */
void hk_values_prepare(struct hk_site_hot *hot);

/* The flags of HOT at its level now; all that changes with it. */
uint8_t hk_values_flags(const struct hk_site_hot *hot);

/* The word of a value that is the result, one integer argument by value, or one int whose address a
 * shipped hook vouches for; false for any other. */
bool hk_values_plain_word(const struct hk_hook *hook, const struct hk_value *value,
			  uint8_t *ret_word);

/* Evaluates every value of the call's hook, in order. General registers only, no foreign code.
 * Returns false if a value needs an answer of the host's MPI, CUDA or NCCL library. */
bool hk_values_known(struct hk_call *call, uint64_t values[HK_HOOK_VALUES]);

/* Evaluates every value of the call's hook, in order, and asks the host's libraries where it has
 * to. They are called as the host would call them: a call has returned, so by the calling
 * convention no vector register but its result is in use. */
void hk_values_read(struct hk_call *call, uint64_t values[HK_HOOK_VALUES]);

/* A plain value: general registers, no calls. */
static inline uint64_t hk_values_plain(const struct hk_call *call, uint8_t word)
{
	uint64_t value = ((const uint64_t *)(const void *)call)[word & HK_WORD_INDEX];
	if ((word & HK_WORD_POINTEE) == HK_WORD_POINTEE) {
		return value ? (uint64_t)(int64_t) * (const int32_t *)value : 0;
	}
	if (word & HK_WORD_SIGN32) {
		return (uint64_t)(int64_t)(int32_t)value;
	}
	return word & HK_WORD_ZERO32 ? (uint32_t)value : value;
}

/* VALUE as an argument or a result of TYPE (enum hk_hook_type): what lies above an int's 32 bits in
 * a register is anything. */
uint64_t hk_values_widen(uint64_t value, uint8_t type);

/* Argument NUMBER of the call as it was passed: an address if it is a reference. */
uint64_t hk_values_register(const struct hk_call *call, uint8_t number);

/* What argument NUMBER of the call points to, or the words of a struct by value. */
const uint64_t *hk_values_memory(const struct hk_call *call, uint8_t number);

/* Whether the call's result is an error by the rule error=nonzero: nothing was made or written.
 * General registers only. */
static inline bool hk_values_failed(const struct hk_call *call)
{
	const struct hk_hook *hook = call->site->hook;
	int32_t result = (int32_t)call->result;
	return hook->error == HK_ERROR_NONZERO && result != 0 && result != hook->pending;
}

/* Whether BYTES at ADDRESS can be read. Shipped hooks are taken at their word; a user's line may
 * call an address what is none. */
bool hk_values_is_readable(const struct hk_call *call, uint64_t address, size_t bytes);

/* Argument NUMBER of the call as a 64-bit value, dereferenced if it is a reference; 0: it cannot
 * be. */
uint64_t hk_values_argument(const struct hk_call *call, uint8_t number);

/* Whether the call may have failed by its hook's error rule. False is certain. */
static inline bool hk_values_suspect(const struct hk_call *call)
{
	const struct hk_hook *hook = call->site->hook;
	switch (hook->error) {
	case HK_ERROR_NONZERO:
		return (int32_t)call->result != 0;
	case HK_ERROR_ERRNO:
		return (int32_t)call->result == -1;
	case HK_ERROR_NULL:
		return call->result == 0;
	case HK_ERROR_FAILED:
		return call->result == ~0ULL;
	case HK_ERROR_IERR:
		return hk_values_argument(call, (uint8_t)(hook->arg_count - 1)) != 0;
	default:
		return false;
	}
}

#endif
