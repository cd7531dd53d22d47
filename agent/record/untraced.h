/* untraced.h: enters a forked process that could make no segment of its own.
 *
 * The entry is in the segment of the nearest ancestor with one, which the process still has mapped
 * (ring/segment.h: struct hk_untraced). From then on its calls bypass the agent, because no
 * collector could read their data. The slots of a process that it forks are restored too: that one
 * enters itself when it ends by exit(), and is unknown before.
 */
#ifndef HK_AGENT_RECORD_UNTRACED_H
#define HK_AGENT_RECORD_UNTRACED_H

#include "ring/segment.h"

/* Enters this process, which PROCESS describes, into the segment of ANCESTOR. ERROR is -errno of
 * the attempt to make its own segment. Returns NULL if no entry is free: the process is then only
 * counted. */
struct hk_untraced *hk_untraced_enter(struct hk_segment_header *ancestor,
				      const struct hk_segment_header *process, int error);

/* Notes that the process of ENTRY, which may be NULL, ends with CODE. */
void hk_untraced_end(struct hk_untraced *entry, int code);

#endif
