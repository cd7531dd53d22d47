/* word.h: values that are one word of struct hk_call. General registers only. */
#ifndef HK_AGENT_FRAME_WORD_H
#define HK_AGENT_FRAME_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "hooks/hook.h"

/* Returns how a value of a type (enum hk_hook_type) is widened (HK_WORD_*), or 0 if it has 64 bits.
 */
extern const uint8_t hk_word_widening[];

/* Returns VALUE as an argument or a result of TYPE (enum hk_hook_type). The bits above an int's 32
 * in a register are undefined. */
static inline uint64_t hk_word_widen(uint64_t value, uint8_t type)
{
	uint8_t how = hk_word_widening[type];
	return how == HK_WORD_SIGN32   ? (uint64_t)(int64_t)(int32_t)value
	       : how == HK_WORD_ZERO32 ? (uint32_t)value
				       : value;
}

/* The word of an argument, or the first one of a struct by value. */
static inline uint32_t hk_word_of_argument(const struct hk_hook_arg *arg)
{
	return arg->place == HK_PLACE_INTEGER
		   ? arg->index
		   : (uint32_t)(offsetof(struct hk_call, stack) / 8) + arg->index;
}

/* Sets the word of a value that is the result, one integer argument by value, or one int at an
 * address that a shipped hook guarantees. Returns false for any other value. */
bool hk_word_of_value(const struct hk_hook *hook, const struct hk_value *value, uint8_t *ret_word);

/* A plain value: general registers, no calls. */
static inline uint64_t hk_word_read(const struct hk_call *call, uint8_t word)
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

#endif
