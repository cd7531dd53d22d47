#include "agent/runtime/arguments.h"

#include <stdbool.h>

#include "agent/frame/hot.h"
#include "agent/frame/state.h"
#include "agent/frame/word.h"
#include "agent/record/process.h"
#include "agent/runtime/mpi.h"
#include "agent/runtime/operand.h"
#include "hooks/arguments.h"

#define PAGE 4096u /* or part of a page */

static bool is_readable(uintptr_t address)
{
	return !hk_process.sealed && hk_state_is_readable(address);
}

/* Copies up to MOST bytes of the text at ADDRESS, whose first byte is readable. Returns the bytes
 * copied. *ret_ended is false if the text is longer. */
static uint32_t copy_text(uintptr_t address, uint8_t *bytes, uint32_t most, bool *ret_ended)
{
	uint32_t length = 0;
	bool ended = false, readable = true;
	while (!ended && readable && length < most) {
		const char *at = (const char *)(address + length);
		readable = length == 0 || (uintptr_t)at % PAGE || is_readable((uintptr_t)at);
		ended = readable && !*at;
		if (readable && !ended) {
			bytes[length++] = (uint8_t)*at;
		}
	}
	if (!ended && readable) { /* full: the text may end just here */
		uintptr_t next = address + length;
		ended = (next % PAGE || is_readable(next)) && !*(const char *)next;
	}
	*ret_ended = ended;
	return length;
}

/* Fills up the last word behind USED bytes. Returns the words used. */
static uint32_t end_text(uint8_t *bytes, uint32_t used)
{
	uint32_t words = (used + 7) / 8;
	for (uint32_t at = used; at < words * 8; at++) {
		bytes[at] = 0;
	}
	return words;
}

/* Copies the text at ADDRESS after its length byte. Returns the words used, or 0 if the text cannot
 * be read or has no room. */
static uint32_t keep_text(uintptr_t address, uint64_t *words, uint32_t room)
{
	uint8_t *bytes = (uint8_t *)words;
	uint32_t most = room * 8 - 1;

	most = most > HK_ARGUMENTS_TEXT_BYTES ? HK_ARGUMENTS_TEXT_BYTES : most;
	if (!address || !room || !is_readable(address)) {
		return 0;
	}
	bool ended;
	uint32_t length = copy_text(address, bytes + 1, most, &ended);
	bytes[0] = (uint8_t)(length | (ended ? 0 : HK_ARGUMENTS_TEXT_CUT));
	return end_text(bytes, 1 + length);
}

/* Copies the text at ADDRESS behind its length of two bytes, as far as ROOM permits. Returns the
 * words used, or 0 if the text cannot be read or has no room. */
static uint32_t keep_long_text(uintptr_t address, uint64_t *words, uint32_t room)
{
	uint8_t *bytes = (uint8_t *)words;
	uint32_t most = room * 8 - 2;

	most = most > HK_ARGUMENTS_LONG_BYTES ? HK_ARGUMENTS_LONG_BYTES : most;
	if (!address || !room || !is_readable(address)) {
		return 0;
	}
	bool ended;
	uint32_t length = copy_text(address, bytes + 2, most, &ended);
	uint16_t head = (uint16_t)(length | (ended ? 0 : HK_ARGUMENTS_LONG_CUT));
	__builtin_memcpy(bytes, &head, sizeof(head));
	return end_text(bytes, 2 + length);
}

/* Returns whether TYPE is an MPI handle of 32 bits. */
static bool is_narrow_handle(uint8_t type, bool fortran)
{
	return (type == HK_TYPE_MPI_DATATYPE || type == HK_TYPE_MPI_COMM) &&
	       (fortran || !hk_mpi_is_wide());
}

/* Reads what a reference argument points to. */
static bool keep_pointee(uintptr_t address, uint8_t type, bool fortran, uint64_t *ret_word)
{
	bool narrow = type == HK_TYPE_INT || type == HK_TYPE_FD || type == HK_TYPE_UINT ||
		      type == HK_TYPE_FLOAT || type == HK_TYPE_NCCL_DATATYPE ||
		      is_narrow_handle(type, fortran);
	size_t bytes = narrow ? 4 : 8;
	uint32_t low;

	if (!address || type == HK_TYPE_STR || type == HK_TYPE_TEXT || !is_readable(address) ||
	    !is_readable(address + bytes - 1)) {
		return false;
	}
	if (!narrow) {
		__builtin_memcpy(ret_word, (const void *)address, sizeof(*ret_word));
		return true;
	}
	__builtin_memcpy(&low, (const void *)address, sizeof(low));
	*ret_word = hk_word_widen(low, type);
	return true;
}

/* Keeps a value. Returns the words used. *ret_address is set if the address was kept instead of the
 * value there. */
static uint32_t keep(uint64_t raw, uint8_t type, bool reference, bool fortran, uint64_t *words,
		     uint32_t room, bool *ret_address)
{
	*ret_address = false;
	if (type == HK_TYPE_VOID || type == HK_TYPE_STRUCT) {
		return 0;
	}
	if ((type == HK_TYPE_STR || type == HK_TYPE_TEXT) && !reference) {
		uint32_t used = type == HK_TYPE_STR ? keep_text((uintptr_t)raw, words, room)
						    : keep_long_text((uintptr_t)raw, words, room);
		if (used) {
			return used;
		}
	} else if (!reference) {
		words[0] =
		    is_narrow_handle(type, fortran) ? (uint32_t)raw : hk_word_widen(raw, type);
		return 1;
	} else if (keep_pointee((uintptr_t)raw, type, fortran, &words[0])) {
		return 1;
	}
	*ret_address = true;
	words[0] = raw;
	return 1;
}

static uint64_t passed(const struct hk_call *call, const struct hk_hook_arg *arg, uint8_t number)
{
	if (arg->place == HK_PLACE_FLOAT) {
		const char *vectors = (const char *)call + HK_CALL_BYTES + HK_CALL_VECTOR;
		return ((const uint64_t *)(const void *)vectors)[arg->index];
	}
	return hk_operand_register(call, number);
}

/* Words that the arguments behind NUMBER and the result need at least. */
static uint32_t needed_behind(const struct hk_hook *hook, uint32_t number)
{
	uint32_t words = 1;
	for (uint32_t i = number + 1; i < hook->arg_count; i++) {
		words += hook->args[i].type == HK_TYPE_DIM3 ? 2 : 1;
	}
	return words;
}

static void keep_described(const struct hk_call *call, uint64_t vector, struct hk_payload *payload)
{
	const struct hk_hook *hook = call->site->hook;
	bool fortran = hook->flags & HK_HOOK_FORTRAN, floating, address;
	uint64_t *marks = &payload->words[payload->count++];
	uint32_t room = sizeof(payload->words) / sizeof(payload->words[0]);

	room -= call->site->level == HK_LEVEL_STACK;
	*marks = 0;
	for (uint32_t i = 0; i < hook->arg_count; i++) {
		const struct hk_hook_arg *arg = &hook->args[i];
		uint64_t raw = arg->type == HK_TYPE_STRUCT ? 0 : passed(call, arg, (uint8_t)i);
		/* Each later value, including the result, has its words left. */
		uint32_t spare = room - payload->count - needed_behind(hook, i);
		payload->count += keep(raw, arg->type, arg->reference, fortran,
				       &payload->words[payload->count], spare, &address);
		if (arg->type == HK_TYPE_DIM3) {
			const uint64_t *second = (const uint64_t *)(const void *)call;
			payload->words[payload->count++] =
			    (uint32_t)second[hk_word_of_argument(arg) + 1];
		}
		*marks |= (uint64_t)address << i;
	}
	floating = hook->result == HK_TYPE_FLOAT || hook->result == HK_TYPE_DOUBLE;
	payload->count += keep(floating ? vector : call->result, hook->result, false, fortran,
			       &payload->words[payload->count], room - payload->count, &address);
	*marks |= (uint64_t)address << HK_ARGUMENTS_RESULT;
}

static void keep_unknown(const struct hk_call *call, struct hk_payload *payload)
{
	uint64_t *words = &payload->words[payload->count];

	words[0] = 0;
	for (uint32_t i = 0; i < HK_SIGNATURE_UNKNOWN_ARGS; i++) {
		words[1 + i] = call->integer[i];
	}
	words[1 + HK_SIGNATURE_UNKNOWN_ARGS] = call->result;
	payload->count += HK_SIGNATURE_UNKNOWN_ARGS + 2;
}

/* The agent has not touched vector registers since the hooked function left its result there. */
static uint64_t floating_result(void)
{
	uint64_t bits;
#if defined(__x86_64__)
	__asm__ volatile("movq %%xmm0, %0" : "=r"(bits));
#else
	__asm__ volatile("fmov %0, d0" : "=r"(bits));
#endif
	return bits;
}

void hk_arguments_keep(const struct hk_call *call, struct hk_payload *payload)
{
	if (call->site->hook->flags & HK_HOOK_DESCRIBED) {
		keep_described(call, floating_result(), payload);
	} else {
		keep_unknown(call, payload);
	}
}
