/* group.h: call rows summed by function, library, rank or host, with their spread over the ranks.
 *
 * Roles do not mix, each group holds one, but where HK_GROUP_TOGETHER asks for it. Texts are the
 * report's or the snapshot's, which must outlive the groups. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_GROUP_H
#define HK_REPORT_BUILD_GROUP_H

#include "report/model/report.h"

/* What rows must share to be summed; bits. */
#define HK_GROUP_FUNCTION 1u /* domain and function */
#define HK_GROUP_LIBRARY 2u
#define HK_GROUP_RANK 4u
#define HK_GROUP_HOST 8u
/* No key: calls of helpers count as those of main processes. Not for folded snapshots. */
#define HK_GROUP_TOGETHER 64u
/* No key: the processes of a folded snapshot have the sums of their own calls. */
#define HK_GROUP_PROCESS 32u
#define HK_GROUP_DOMAIN 16u /* without its functions; HK_GROUP_FUNCTION has it too */

struct hk_group {
	const char *role;
	const char *domain, *function, *library, *host; /* NULL unless a key */
	int32_t rank;					/* valid if a key */
	uint32_t flags;					/* HK_HOOK_* of its rows */
	struct hk_report_numbers numbers;
	int32_t max_rank;      /* rank whose call lasted longest */
	uint64_t rank_most_ns; /* most total (self when functions are mixed) of one rank */
	/* That over the mean of the job's ranks, or the host's if that is a key; 0: no time, ranks
	 * apart, or launchers. */
	double imbalance;
};

struct hk_groups {
	struct hk_group *groups; /* largest total first; with functions mixed, largest self time
				  * first; ranks alone in their order */
	size_t count;
};

/* Sums the rows of `report` by `keys`; free with hk_groups_fini. -ENOMEM. */
int hk_groups_init(struct hk_groups *groups, const struct hk_report *report, unsigned keys);
/* The groups of a snapshot that was folded where it comes from (rollup.h), by the keys it was
 * folded by; REPORT: of the same job, without its calls. -ENOMEM. */
int hk_groups_of_functions(struct hk_groups *groups, const Hk__Snapshot *snapshot,
			   const struct hk_report *report);
void hk_groups_fini(struct hk_groups *groups);

/* How the library of group INDEX is shown beside its function: the base name; the path if another
 * group of that function has the same base name. Library must be a key. */
const char *hk_group_library(const struct hk_groups *groups, size_t index);

#endif
