/* arguments.h: the arguments and the result of a call as words of its record (hooks/arguments.h).
 *
 * Read after the call has returned. The host's memory is read by the kernel, so a bad pointer is
 * shown as an address and does no harm. The content of a text or a reference is what the call left
 * there.
 */
#ifndef HK_AGENT_RUNTIME_ARGUMENTS_H
#define HK_AGENT_RUNTIME_ARGUMENTS_H

#include "agent/frame/call.h"
#include "ring/segment.h"

/* The payload of one record in the making. At level record+stack
 * arguments leave one word to the stack. */
struct hk_payload {
	uint32_t count;
	uint64_t words[HK_RECORD_WORDS_MAX - 1]; /* one is kept for a long duration */
};

/* Adds the arguments and the result of CALL to PAYLOAD. General registers only. It reads the first
 * vector register, which must be unchanged since the call. */
void hk_arguments_keep(const struct hk_call *call, struct hk_payload *payload);

#endif
