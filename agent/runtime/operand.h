/* operand.h: the arguments and the result of a call that has returned. General registers only. */
#ifndef HK_AGENT_RUNTIME_OPERAND_H
#define HK_AGENT_RUNTIME_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/frame/word.h"

/* Returns argument NUMBER of the call as it was passed: an address if it is a reference. */
static inline uint64_t hk_operand_register(const struct hk_call *call, uint8_t number)
{
	const struct hk_hook_arg *arg = &call->site->hook->args[number];
	return ((const uint64_t *)(const void *)call)[hk_word_of_argument(arg)];
}

/* Returns the second word of argument NUMBER, a dim3. */
static inline uint64_t hk_operand_second(const struct hk_call *call, uint8_t number)
{
	const struct hk_hook_arg *arg = &call->site->hook->args[number];
	return ((const uint64_t *)(const void *)call)[hk_word_of_argument(arg) + 1];
}

/* Returns the memory that argument NUMBER of the call points to, or the words of a struct by value.
 */
const uint64_t *hk_operand_memory(const struct hk_call *call, uint8_t number);

/* Returns whether BYTES at ADDRESS can be read. Addresses of shipped hooks are not checked. A
 * user's line may be wrong about an address. */
bool hk_operand_is_readable(const struct hk_call *call, uint64_t address, size_t bytes);

/* The value of TYPE at ADDRESS; 0: it cannot be read. */
uint64_t hk_operand_dereference(const struct hk_call *call, uint64_t address, uint8_t type);

/* Returns argument NUMBER of the call as a 64-bit value, dereferenced if it is a reference, or 0 if
 * it cannot be read. */
static inline uint64_t hk_operand_argument(const struct hk_call *call, uint8_t number)
{
	const struct hk_hook_arg *arg = &call->site->hook->args[number];
	uint64_t raw = hk_operand_register(call, number);
	if (arg->reference) {
		return hk_operand_dereference(call, raw, arg->type);
	}
	return hk_word_widen(raw, arg->type);
}

/* Returns whether the call's result is an error by the rule error=nonzero: the call then made and
 * wrote nothing. General registers only. */
static inline bool hk_operand_failed(const struct hk_call *call)
{
	const struct hk_hook *hook = call->site->hook;
	int32_t result = (int32_t)call->result;
	return hook->error == HK_ERROR_NONZERO && result != 0 && result != hook->pending;
}

/* Returns whether the call is inside another recorded call whose hook is LIKE this. */
bool hk_operand_is_within(const struct hk_call *call, bool (*like)(const struct hk_hook *hook));

/* Returns whether the call may have failed by its hook's error rule. False is certain. */
static inline bool hk_operand_suspect(const struct hk_call *call)
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
		return hk_operand_argument(call, (uint8_t)(hook->arg_count - 1)) != 0;
	default:
		return false;
	}
}

#endif
