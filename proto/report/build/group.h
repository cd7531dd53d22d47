/* group.h: sums call rows by function, library, rank or host, with their spread over the ranks.
 *
 * Each group holds calls of one role, except with HK_GROUP_TOGETHER. Texts belong to the report or
 * the snapshot, which must outlive the groups. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_GROUP_H
#define HK_REPORT_BUILD_GROUP_H

#include "report/model/report.h"

/* Keys: what rows must have in common to be summed. Bits. */
#define HK_GROUP_FUNCTION 1u /* domain and function */
#define HK_GROUP_LIBRARY 2u
#define HK_GROUP_RANK 4u
#define HK_GROUP_HOST 8u
/* A flag, not a key: calls of helpers count as calls of main processes. Not for rollups. */
#define HK_GROUP_TOGETHER 64u
/* A flag, not a key: the processes of a rollup hold the sums of their own calls. */
#define HK_GROUP_PROCESS 32u
#define HK_GROUP_DOMAIN 16u /* the domain alone; HK_GROUP_FUNCTION includes it */

struct hk_group {
	const char *role;
	const char *domain, *function, *library, *host; /* NULL unless they are keys */
	int32_t rank;					/* valid if it is a key */
	uint32_t flags;					/* HK_HOOK_* of its rows */
	struct hk_report_numbers numbers;
	int32_t max_rank; /* rank with the longest call */
	uint64_t
	    rank_most_ns; /* highest total time of one rank; self time without HK_GROUP_FUNCTION */
	/* rank_most_ns over the mean of the job's ranks, or of the host's ranks if hosts are a key.
	 * 0 without time, if ranks are a key, and for launchers. */
	double imbalance;
};

struct hk_groups {
	struct hk_group
	    /* Largest total time first; without HK_GROUP_FUNCTION largest self time first; with
	       ranks as a key, without functions and libraries, by rank. */
	    *groups;
	size_t count;
};

/* Sums the rows of `report` by `keys`. The caller frees the result with hk_groups_fini. Returns 0
 * or -ENOMEM. */
int hk_groups_init(struct hk_groups *groups, const struct hk_report *report, unsigned keys);
/* Makes the groups of a rollup (rollup.h) by the keys of that rollup. REPORT is the report of
 * SNAPSHOT. Returns 0 or -ENOMEM. */
int hk_groups_of_functions(struct hk_groups *groups, const Hk__Snapshot *snapshot,
			   const struct hk_report *report);
void hk_groups_fini(struct hk_groups *groups);

/* Returns how the library of group INDEX is shown beside its function: its base name, or its path
 * if another group of the function has the same base name. The library must be a key. */
const char *hk_group_library(const struct hk_groups *groups, size_t index);

#endif
