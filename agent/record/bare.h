/* bare.h: enters programs that are started without the agent (ring/segment.h: struct hk_bare).
 *
 * The segment is that of the process that starts the program, or of its nearest ancestor with one.
 * No lock, no system call: a vfork child enters it in its parent's memory.
 */
#ifndef HK_AGENT_RECORD_BARE_H
#define HK_AGENT_RECORD_BARE_H

#include "ring/segment.h"

/* Counts a start of PROGRAM in HEADER's table. Returns its entry, or NULL if no entry is free: the
 * program is then only counted. */
struct hk_bare *hk_bare_enter(struct hk_segment_header *header, enum hk_bare_reason reason,
			      const char *program);

/* Takes the start back that entered ENTRY, which may be NULL: it failed. */
void hk_bare_withdraw(struct hk_bare *entry);

#endif
