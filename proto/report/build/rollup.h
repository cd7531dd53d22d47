/* rollup.h: a snapshot with its calls folded, by function over all ranks or by other keys. A screen
 * of a job of many ranks needs a hundredth of the snapshot: functions instead of the processes'
 * cells, and only the sites of open calls. The receiver makes its groups with
 * hk_groups_of_functions. Locked by the caller. */
#ifndef HK_REPORT_BUILD_ROLLUP_H
#define HK_REPORT_BUILD_ROLLUP_H

#include "schema/wire.pb-c.h"

struct hk_rollup {
	Hk__Snapshot
	    snapshot; /* borrows from that which was folded: not to be freed as a message */
	struct hk_rollup_group *groups;
	Hk__Process *processes;
	Hk__ProcessCalls *calls; /* one for each process; NULL: not asked for */
	Hk__Site **sites;
};

/* Folds SNAPSHOT, which must outlive FOLD, as REQUEST says. DIGESTS: of each of its processes
 * hk_sites_digest, 0 where that is not known; or NULL. The names of sites that are those of the
 * process before are not read again. -ENOMEM; -EINVAL: no such keys. */
int hk_rollup_init(struct hk_rollup *fold, const Hk__Snapshot *snapshot,
		   const Hk__SnapshotRequest *request, const uint64_t *digests);
/* Frees; a zeroed one is allowed. */
void hk_rollup_fini(struct hk_rollup *fold);

#endif
