/* activity.h: what a device did, as the record of it tells (PROTOCOL.md, "Activities"), and which
 * call of the host asked for it.
 *
 * Calls that may ask for work are noted as they begin, in the order of their starts; the newest
 * HK_LAUNCHES_MAX of a process are remembered, so that what is told late still finds its call. One
 * owner, no locking.
 */
#ifndef HK_EXPORTERS_ACTIVITY_H
#define HK_EXPORTERS_ACTIVITY_H

#include "exporters/exporter.h"

#define HK_LAUNCHES_MAX 65536u

struct hk_device_activity {
	uint8_t meaning; /* HK_MEANING_DEVICE_* */
	int32_t device;
	uint64_t stream; /* as the call was given it */
	uint64_t bytes;
	uint64_t submitted_ns; /* 0: not known. All times: Unix, as those of slices */
	uint64_t start_ns, end_ns;
};

/* Takes SLICE apart; false: it is of no activity, or lacks a value. */
bool hk_activity_read(const struct hk_slice *slice, struct hk_device_activity *ret_activity);

/* A call that may have asked a device for work. */
struct hk_launch {
	uint64_t start_ns, end_ns;
	uint64_t stream;
	bool any_stream; /* it names none */
	uint32_t show_pid, show_tid;
	uint64_t correlation; /* the owner's number of it */
};

/* All zeros is empty. */
struct hk_launches {
	struct hk_launch *ring;
	uint64_t count; /* that there ever were */
};

void hk_launches_fini(struct hk_launches *launches);

/* Starts never fall. 0 or -ENOMEM. */
int hk_launches_add(struct hk_launches *launches, const struct hk_launch *launch);

/* The call of process SHOW_PID within which ACTIVITY was submitted, of several one of thread
 * SHOW_TID, else the latest; NULL: none is remembered. Until the next is added. */
const struct hk_launch *hk_launches_find(const struct hk_launches *launches,
					 const struct hk_device_activity *activity,
					 uint32_t show_pid, uint32_t show_tid);

#endif
