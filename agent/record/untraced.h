/* untraced.h: a forked process that could make no segment of its own.
 *
 * It says so in the segment of its nearest ancestor that has one, which it has still mapped
 * (ring/segment.h: struct hk_untraced), and its calls go past the agent from then on: nobody could
 * read what they would leave behind. A process that it forks has its slots restored, too: such a
 * one enters itself when it ends by exit(), and is not known before.
 */
#ifndef HK_AGENT_RECORD_UNTRACED_H
#define HK_AGENT_RECORD_UNTRACED_H

#include "ring/segment.h"

/* Enters this process, as PROCESS describes it, into the segment of ANCESTOR. ERROR: -errno of the
 * attempt to make its own. NULL: no entry is free, the process is only counted. */
struct hk_untraced *hk_untraced_enter(struct hk_segment_header *ancestor,
				      const struct hk_segment_header *process, int error);

/* The process of ENTRY, which may be NULL, ends with CODE. */
void hk_untraced_end(struct hk_untraced *entry, int code);

#endif
