/* message.h: where the values of most MPI calls come from: bytes of a datatype, ranks, tags, a
 * communicator.
 *
 * They are made of words of struct hk_call, and of what runtime/ keeps for these. Other hooks are
 * no messages: runtime/values.h evaluates theirs.
 */
#ifndef HK_AGENT_FRAME_MESSAGE_H
#define HK_AGENT_FRAME_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "hooks/hook.h"

enum hk_message_bytes {
	HK_MESSAGE_NONE, /* there is no such value */
	HK_MESSAGE_ALWAYS,
	HK_MESSAGE_SENT, /* 0 if the buffer is MPI_IN_PLACE */
	HK_MESSAGE_ROOT, /* 0 if another rank is the root */
};

/* `..._at` is the number of a value, the others are words of struct hk_call. */
struct hk_message {
	uint8_t comm, comm_at;
	uint8_t bytes; /* enum hk_message_bytes */
	uint8_t bytes_at, count, type;
	uint8_t tested; /* the buffer, or the root */
	uint8_t has_sender, sender;
	uint8_t number_count;
	/* Signed 32-bit numbers, the sender among them. The first two, and the bytes, are always
	 * written. A missing one is written where the communicator is written later. */
	struct {
		uint8_t word, at;
	} numbers[HK_HOOK_VALUES];
};

/* How all of HOOK's values are made. Returns NULL if it is no message, or there is no memory. */
const struct hk_message *hk_message_plan(const struct hk_hook *hook);

#endif
