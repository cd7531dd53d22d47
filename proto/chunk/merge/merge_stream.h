/* merge_stream.h: one input of a merge, and the merge's position in it. Shared by merge_window and
 * merge_tree. Code that moves `at` must update `start_ns`. */
#ifndef HK_CHUNK_MERGE_MERGE_STREAM_H
#define HK_CHUNK_MERGE_MERGE_STREAM_H

#include <stdint.h>

#include "chunk/merge/merge_input.h"

#define HK_NO_STREAM UINT32_MAX
#define HK_UNKNOWN_NS INT64_MIN

struct hk_merge_stream {
	const struct hk_record *at, *end; /* rest of the batch; at == end: used up or closed */
	int64_t start_ns;		  /* start of *at; closed: INT64_MAX */
	int64_t last_ns; /* start of the batch's last record, or HK_UNKNOWN_NS; closed: INT64_MAX */
	int64_t next_ns; /* in a tree: start of the record behind *at, computed ahead */
	struct hk_merge_input input;
};

struct hk_merge_streams {
	struct hk_merge_stream *all;
	uint32_t count;
	uint32_t drained; /* the stream whose batch is used up and not replaced, or HK_NO_STREAM */
};

static inline int64_t hk_merge_stream_ns(const struct hk_merge_stream *stream,
					 const struct hk_record *record)
{
	return hk_merge_clock_ns(&stream->input.clock, record->start_ticks);
}

#endif
