/* message.h: the plan for the values of most MPI calls: bytes of a datatype, ranks, tags, a
 * communicator; or of a launch.
 *
 * The values come from words of struct hk_call, and from answers that runtime/ keeps. Other hooks
 * have no plan: runtime/values.h evaluates theirs.
 */
#ifndef HK_AGENT_FRAME_MESSAGE_H
#define HK_AGENT_FRAME_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/launch.h"
#include "hooks/hook.h"

enum hk_message_bytes {
	HK_MESSAGE_NONE, /* there is no such value */
	HK_MESSAGE_ALWAYS,
	HK_MESSAGE_SENT, /* 0 if the buffer is MPI_IN_PLACE */
	HK_MESSAGE_ROOT, /* 0 if another rank is the root */
};

/* `..._at` is the number of a value, the others are words of struct hk_call. */
struct hk_message {
	bool is_launch; /* `launch` is the plan, and no other field */
	uint8_t comm, comm_at;
	uint8_t bytes; /* enum hk_message_bytes */
	uint8_t bytes_at, count, type;
	uint8_t tested; /* the buffer, or the root */
	uint8_t has_sender, sender;
	uint8_t number_count;
	/* Signed 32-bit numbers, with the sender. The first two, and the bytes, are always written.
	 * A missing one is written to the word that the communicator overwrites later. */
	struct {
		uint8_t word, at;
	} numbers[HK_HOOK_VALUES];
	struct hk_launch_words launch;
};

/* Makes the plan for HOOK's values. Returns NULL if HOOK is neither, or without memory. */
const struct hk_message *hk_message_plan(const struct hk_hook *hook);

#endif
