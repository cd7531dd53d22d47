/* stream.h: the stream that keeps what leaves send, and the buckets beside it.
 *
 * A full stream takes nothing more (its discard policy is "new"), so that nothing is lost silently:
 * leaves keep what it does not take. Functions wait for the engine; errors are those of
 * hk_engine_store, with the reason in PROBLEM.
 */
#ifndef HK_COLLECTOR_ENGINE_STREAM_H
#define HK_COLLECTOR_ENGINE_STREAM_H

#include <stdbool.h>

#include "collector/engine/connection.h"

struct hk_stream_plan {
	unsigned partitions; /* 1 to HK_SUBJECT_PARTITIONS_MAX; 0: as they are, or 1 */
	unsigned replicas;   /* 1, 3 or 5; 0: as they are, or 1 */
	uint64_t keep_bytes; /* 0: without a limit */
	uint64_t keep_ns;    /* 0: for ever */
};

/* Makes the stream and the buckets, or changes their limits. Sets the partitions that are in force
 * in PLAN. -EEXIST: there are others, and what is stored is spread over them. */
int hk_stream_setup(struct hk_engine *engine, struct hk_stream_plan *plan,
		    char problem[HK_ENGINE_PROBLEM_BYTES]);

struct hk_stream_state {
	uint64_t messages, bytes, first, last; /* first and last: sequence numbers */
	uint64_t keep_bytes, keep_ns;	       /* 0: without */
	int64_t created; /* ns since the Unix epoch; of two streams of one name they differ */
	unsigned replicas;
	char leader[64]; /* "" of a single server */
};

int hk_stream_state(struct hk_engine *engine, struct hk_stream_state *ret_state,
		    char problem[HK_ENGINE_PROBLEM_BYTES]);

/* Sets *RET_PARTITIONS. -ENOENT: the stream was not set up. */
int hk_stream_partitions(struct hk_engine *engine, unsigned *ret_partitions,
			 char problem[HK_ENGINE_PROBLEM_BYTES]);

/* Sets *RET_COUNT to the messages of a partition behind sequence number AFTER. */
int hk_stream_behind(struct hk_engine *engine, unsigned partition, uint64_t after,
		     uint64_t *ret_count, char problem[HK_ENGINE_PROBLEM_BYTES]);

/* Sets *RET_LAST to the sequence number of the newest message of a partition, 0: there is none. */
int hk_stream_last(struct hk_engine *engine, unsigned partition, uint64_t *ret_last,
		   char problem[HK_ENGINE_PROBLEM_BYTES]);

/* Removes all messages before sequence number FIRST. */
int hk_stream_purge(struct hk_engine *engine, uint64_t first,
		    char problem[HK_ENGINE_PROBLEM_BYTES]);

#endif
