/* rollup.h: sums the calls of a snapshot by function over all ranks, or by other keys. A view of a
 * job of many ranks needs only a hundredth of the snapshot. A rollup has functions instead of the
 * processes' cells, and only the sites of open calls. The receiver makes groups of it with
 * hk_groups_of_functions. Locked by the caller. */
#ifndef HK_REPORT_BUILD_ROLLUP_H
#define HK_REPORT_BUILD_ROLLUP_H

#include "schema/wire.pb-c.h"

struct hk_rollup {
	Hk__Snapshot
	    snapshot; /* borrows from the original snapshot; must not be freed as a message */
	struct hk_rollup_group *groups;
	Hk__Process *processes;
	Hk__ProcessCalls *calls; /* one for each process; NULL: not requested */
	Hk__Site **sites;
};

/* Makes FOLD from SNAPSHOT as REQUEST says. SNAPSHOT must outlive FOLD. DIGESTS holds
 * hk_sites_digest of each process, or 0 if unknown, and may be NULL: the sites of a process are not
 * read again if its digest equals that of the process before. Returns 0, -ENOMEM, or -EINVAL if a
 * key is unknown. */
int hk_rollup_init(struct hk_rollup *fold, const Hk__Snapshot *snapshot,
		   const Hk__SnapshotRequest *request, const uint64_t *digests);
/* Frees FOLD, which may be zeroed. */
void hk_rollup_fini(struct hk_rollup *fold);

#endif
