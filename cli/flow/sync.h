/* sync.h: checks the clocks of a job's nodes by its collective calls.
 *
 * Nobody leaves a `sync=all` call before the last rank has entered it. So when, by the mapped
 * times, one rank left before another one of another node had entered, and by more than both clocks
 * may be wrong, at least one map is wrong. Calls belong together by communicator, function and
 * their number within it; where ranks have recorded different numbers of them (records were lost,
 * levels changed), or times contradict each other on one node, nobody knows which do and none is
 * counted. Memory is bounded by communicators, functions and ranks. One thread.
 */
#ifndef HK_CLI_FLOW_SYNC_H
#define HK_CLI_FLOW_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/clock/clock_slack.h"

struct hk_sync;

struct hk_sync_call {
	uint64_t comm; /* stable hash; 0: unknown, and the call is left out */
	const char *function;
	uint32_t process; /* ordinal */
	uint32_t node;	  /* likewise: processes of one share a clock */
	bool empty;	  /* it moved nothing, and may not have waited */
	int64_t enter_ns, exit_ns;
	uint64_t bound_ns; /* how wrong these may be */
};

struct hk_sync_result {
	uint64_t checks; /* calls of ranks of more than one node that were looked at */
	uint64_t violations;
};

struct hk_sync_options {
	size_t nodes;		/* calls of others are left out */
	uint32_t reference;	/* what errors of the others are told against */
	int64_t from_ns, to_ns; /* of the job */
};

/* -ENOMEM. */
int hk_sync_new(const struct hk_sync_options *options, struct hk_sync **ret_sync);
/* Frees; accepts NULL, returns NULL. */
struct hk_sync *hk_sync_free(struct hk_sync *sync);

/* Takes in a call; those of one process in the order of their starts, those of different processes
 * nearly so. -ENOMEM. */
int hk_sync_add(struct hk_sync *sync, const struct hk_sync_call *call);

/* Looks at what is left; nothing is to be added any more. */
struct hk_sync_result hk_sync_finish(struct hk_sync *sync);

/* After that: the calls that NODE had part in, and what they tell of its clock less the
 * reference's, not spread; NULL: nothing. It lasts as long as SYNC, and may be changed. */
struct hk_sync_result hk_sync_node(const struct hk_sync *sync, uint32_t node);
struct hk_clock_slack *hk_sync_slack(struct hk_sync *sync, uint32_t node);

#endif
