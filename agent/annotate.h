/* annotate.h: ranges, marks, steps, counters and device activities of programs that include
 * hooktrace.h.
 *
 * Each name in each calling object is a call site of its own, without a slot. A range is counted,
 * timed and recorded like a call. The others are counted, and recorded with their value.
 */
#ifndef HK_AGENT_ANNOTATE_H
#define HK_AGENT_ANNOTATE_H

#include <stdint.h>

#include "agent/object/object.h"

struct hk_activity;

/* Sets the level of sites made from names to LEVEL (enum hk_level). Once, at start. */
void hk_annotate_start(uint8_t level);

/* Records an event of NCCL, at a site of domain "nccl.event" of the library at CALLER. */
void hk_annotate_nccl(const struct hk_activity *activity, uintptr_t caller);

/* Counts an operation of NCCL on communicator COMM that took NS and BYTES, at a site of domain
 * "nccl.transfer": its function is FUNC and the size as a power of two, its library the
 * communicator and its ranks. report/build/transfers.c reads both. */
void hk_annotate_transfer(const char *func, uint64_t comm, int32_t ranks, uint64_t ns,
			  uint64_t bytes);

/* Counts what the agent met under NAME, at a site of domain "nccl.event". */
void hk_annotate_count(const char *name, uintptr_t caller);

/* Forgets names at addresses within SPAN, whose library is gone: another library may have other
 * names there. Any thread. */
void hk_annotate_forget(struct hk_span span);

#endif
