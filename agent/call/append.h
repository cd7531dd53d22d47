/* append.h: writes the record of a call at the end of its chain in every case: a full page, an
 * interrupted record, a duration of more than 32 bits. General registers only. */
#ifndef HK_AGENT_CALL_APPEND_H
#define HK_AGENT_CALL_APPEND_H

#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/record/thread.h"

/* Prefetches for writing the lines that the chain reaches some records later. The collector read
 * them last, and a store would wait until its copies are invalid. A prefetch never faults, not even
 * past the segment. */
static inline void hk_append_fetch_ahead(const uint64_t *room)
{
	const uint64_t *ahead = room + HK_RECORDS_AHEAD_WORDS;
#if defined(__x86_64__)
	/* The builtin needs a processor option. On processors without the instruction it does
	 * nothing. */
	__asm__ volatile("prefetchw %0" : : "m"(*ahead));
#else
	__builtin_prefetch(ahead, 1);
#endif
}

/* Records CALL, which took NS, with COUNT words of VALUES. Counts the record as lost if there is no
 * room. */
void hk_append_record(struct hk_thread *thread, const struct hk_call *call, uint64_t ns,
		      enum hk_record_kind kind, const uint64_t *values, uint32_t count);

#endif
