/* annotate.h: ranges, marks, steps, counters and device activities of programs that include
 * hooktrace.h.
 *
 * A range is counted, timed and recorded like a call. The others are counted, and recorded with
 * their value. annotate_names.h has their call sites.
 */
#ifndef HK_AGENT_ANNOTATE_H
#define HK_AGENT_ANNOTATE_H

#include <stdbool.h>
#include <stdint.h>

struct hk_activity;
struct hk_device_work;

/* Ranges and marks of another API than hooktrace.h, named TEXT, called from CALLER. GROUP: ranges
 * of one group end in the order in which they began, those of different groups in any order; both
 * functions return the number of the group's ranges that are open around this one, or -1. */
void hk_annotate_mark(const char *text, uintptr_t caller);
int hk_annotate_push(const char *text, uint32_t group, uintptr_t caller);
int hk_annotate_pop(uint32_t group);

/* A range that may end on another thread. Returns its number, never 0, which is good for one end.
 * The end gives back TAG, and returns false for an unknown number. */
uint64_t hk_annotate_start_range(const char *text, uintptr_t caller, uint64_t tag);
bool hk_annotate_end_range(uint64_t number, uint64_t *ret_tag);

/* Records WORK of a device, and adds its time to the calls that submitted it. Any thread that is
 * not inside the agent. */
void hk_annotate_work(const struct hk_device_work *work);

/* Records an event of NCCL, at a site of domain "nccl.event" of the library at CALLER. */
void hk_annotate_nccl(const struct hk_activity *activity, uintptr_t caller);

/* Counts an operation of NCCL on communicator COMM that took NS and BYTES, at a site of domain
 * "nccl.transfer": its function is FUNC and the size as a power of two, its library the
 * communicator and its ranks. report/build/transfers.c reads both. */
void hk_annotate_transfer(const char *func, uint64_t comm, int32_t ranks, uint64_t ns,
			  uint64_t bytes);

/* Counts what the agent met under NAME, at a site of domain "nccl.event". */
void hk_annotate_count(const char *name, uintptr_t caller);

#endif
