/* values.h: the named values of a call, read from its registers after it returned (hooks/hook.h,
 * struct hk_value). */
#ifndef HK_AGENT_FRAME_VALUES_H
#define HK_AGENT_FRAME_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/call.h"
#include "frame/hot.h"

/* Sets the words and flags of HOT from its hook and level. */
void hk_values_prepare(struct hk_site_hot *hot);

/* The flags of HOT at its level now; all that changes with it. */
uint8_t hk_values_flags(const struct hk_site_hot *hot);

/* Evaluates every value of the call's hook, in order. May call the host's MPI, CUDA and NCCL
 * libraries: under hk_state_saved. */
void hk_values_evaluate(struct hk_call *call, uint64_t values[HK_HOOK_VALUES]);

/* Plain values only: general registers, no calls. */
static inline uint64_t hk_values_plain(const struct hk_call *call, uint8_t word)
{
	uint64_t value = ((const uint64_t *)(const void *)call)[word & HK_WORD_INDEX];
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

#endif
