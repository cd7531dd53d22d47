/* sync.h: checks the clocks of a job's nodes by its collective calls. No rank leaves a `sync=all`
 * call before the last rank has entered it. A map is wrong if, by the mapped times, one rank left
 * before another one of another node had entered, by more than the errors of both clocks. Calls
 * belong together by communicator, function and their number within it. If ranks have recorded
 * different numbers of them (lost records, changed levels), or times contradict each other on one
 * node, the calls cannot be matched and are not counted. Memory is bounded by communicators,
 * functions and ranks. One thread. */
#ifndef HK_CLI_FLOW_SYNC_H
#define HK_CLI_FLOW_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/clock/clock_slack.h"

struct hk_sync;

struct hk_sync_call {
	uint64_t comm; /* stable hash; 0: unknown, and the call is ignored */
	const char *function;
	uint32_t process; /* ordinal */
	uint32_t node;	  /* ordinal: processes of one node share a clock */
	bool empty;	  /* the call moved no data, and may not have waited */
	int64_t enter_ns, exit_ns;
	uint64_t bound_ns; /* limit of the error of both times */
};

struct hk_sync_result {
	uint64_t checks; /* checked calls with ranks of more than one node */
	uint64_t violations;
};

struct hk_sync_options {
	size_t nodes;		/* number of nodes; calls of further ones are ignored */
	uint32_t reference;	/* node against whose clock the others' errors count */
	int64_t from_ns, to_ns; /* range of the job's time */
};

/* Returns 0 or -ENOMEM. */
int hk_sync_new(const struct hk_sync_options *options, struct hk_sync **ret_sync);
/* Frees SYNC. Accepts NULL, returns NULL. */
struct hk_sync *hk_sync_free(struct hk_sync *sync);

/* Adds a call; calls of one process come in the order of their starts, those of different processes
 * nearly so. Returns 0 or -ENOMEM. */
int hk_sync_add(struct hk_sync *sync, const struct hk_sync_call *call);

/* Processes the remaining calls and returns the sums. No call may be added afterwards. */
struct hk_sync_result hk_sync_finish(struct hk_sync *sync);

/* To be called after hk_sync_finish. Returns the calls with ranks of NODE, and the range of its
 * clock's error against the reference, not spread. NULL: unknown. The range is valid as long as
 * SYNC, and may be changed. */
struct hk_sync_result hk_sync_node(const struct hk_sync *sync, uint32_t node);
struct hk_clock_slack *hk_sync_slack(struct hk_sync *sync, uint32_t node);

#endif
