/* arguments.h: the arguments and the result of a call as words of its record (hooks/arguments.h).
 *
 * Taken after the call has returned. Memory of the host's is read only where the kernel says that
 * it can be read, so a bad pointer is shown as an address and breaks nothing; what a text or a
 * reference points to is what the call left there.
 */
#ifndef HK_AGENT_RUNTIME_ARGUMENTS_H
#define HK_AGENT_RUNTIME_ARGUMENTS_H

#include "agent/frame/call.h"
#include "ring/segment.h"

/* The payload of one record in the making. */
struct hk_payload {
	uint32_t count;
	uint64_t words[HK_RECORD_WORDS_MAX - 1]; /* one is kept for a long duration */
};

/* Adds to PAYLOAD the arguments and the result of CALL. General registers only; it looks at the
 * first vector register, which must still be as the call left it. */
void hk_arguments_keep(const struct hk_call *call, struct hk_payload *payload);

#endif
