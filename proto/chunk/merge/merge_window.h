/* merge_window.h: the next records of a merge, a stretch of time at once.
 *
 * What all streams have in a few thousand records' time becomes one list of keys, which is sorted
 * by dealing it out (radix.h): that takes the same few steps for each record whatever the number of
 * streams, and none that waits for the one before. How long a window is follows from how many
 * records came in the last one. A window ends with the first batch that does, since nobody knows
 * what comes behind it. */
#ifndef HK_CHUNK_MERGE_MERGE_WINDOW_H
#define HK_CHUNK_MERGE_MERGE_WINDOW_H

#include <stdbool.h>

#include "chunk/merge/merge_stream.h"
#include "chunk/merge/radix.h"

#define HK_MERGE_WINDOW_STREAMS_MAX (HK_RADIX_KEYS_MAX / 4)
/* What a window may reach from its begin on, in ns. */
#define HK_MERGE_WINDOW_NS_MAX (1ll << 31)

/* A key: ns since the window begins, stream, index in the stream's run. */
#define HK_MERGE_TIME_SHIFT HK_RADIX_LOW_BITS
#define HK_MERGE_INPUT_SHIFT 16u
#define HK_MERGE_INDEX_MASK 0xffffu

struct hk_merge_window {
	const uint64_t *next, *end;    /* keys yet to be handed out */
	const struct hk_record **runs; /* per stream: its first record in the window */
	int64_t begin_ns;
	int64_t width_ns; /* of the next window */
	uint64_t *keys, *sorted;
	uint16_t *buckets;
	uint32_t capacity, count; /* of keys */
	uint32_t usual;		  /* how many keys the last window had that was not cut short */
	unsigned shift;		  /* ns >> shift: number of a bucket */
	bool sparse; /* so few records in it that finding them one by one is better for a while */
};

/* Makes room for so many streams; false: out of memory. hk_merge_window_fini either way. */
bool hk_merge_window_init(struct hk_merge_window *window, size_t streams);
void hk_merge_window_fini(struct hk_merge_window *window);

/* Takes the streams' next records, at least one. False, and all is as it was: what comes next is
 * out of order, or outside the `range_ns` from `base_ns` on, or too much at once. */
bool hk_merge_window_open(struct hk_merge_window *window, struct hk_merge_streams *streams,
			  int64_t base_ns, uint64_t range_ns);

/* The next of its records; there must be one. */
static inline struct hk_merged hk_merge_window_next(struct hk_merge_window *window)
{
	uint64_t key = *window->next++;
	uint32_t input = (uint32_t)key >> HK_MERGE_INPUT_SHIFT;

	return (struct hk_merged){
	    .start_ns = window->begin_ns + (int64_t)(key >> HK_MERGE_TIME_SHIFT),
	    .input = input,
	    .record = window->runs[input] + (key & HK_MERGE_INDEX_MASK),
	};
}

#endif
