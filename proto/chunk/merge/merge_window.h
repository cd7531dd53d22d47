/* merge_window.h: the next records of a merge, a stretch of time at once. The records of all
 * streams in a window become one list of keys, which is sorted by distribution (radix.h). That
 * takes the same few steps per record for any number of streams, without steps that wait for the
 * one before. The length of a window follows from the number of records in the last one. A window
 * ends with the first batch that ends, since the records behind that batch are not known yet. */
#ifndef HK_CHUNK_MERGE_MERGE_WINDOW_H
#define HK_CHUNK_MERGE_MERGE_WINDOW_H

#include <stdbool.h>

#include "chunk/merge/merge_stream.h"
#include "chunk/merge/radix.h"

#define HK_MERGE_WINDOW_STREAMS_MAX (HK_RADIX_KEYS_MAX / 4)
/* Most ns from a window's begin to its end. */
#define HK_MERGE_WINDOW_NS_MAX (1ll << 31)

/* A key: ns since the window begins, stream, index in the stream's run. */
#define HK_MERGE_TIME_SHIFT HK_RADIX_LOW_BITS
#define HK_MERGE_INPUT_SHIFT 16u
#define HK_MERGE_INDEX_MASK 0xffffu

struct hk_merge_window {
	const uint64_t *next, *end;    /* keys not yet handed out */
	const struct hk_record **runs; /* per stream: its first record in the window */
	int64_t begin_ns;
	int64_t width_ns; /* width of the next window */
	uint64_t *keys, *sorted;
	uint16_t *buckets;
	uint32_t capacity, count; /* number of keys */
	uint32_t usual;		  /* number of keys of the last window that was not cut short */
	unsigned shift;		  /* ns >> shift: number of a bucket */
	bool sparse; /* few records in it: finding them one by one is better for a while */
};

/* Allocates for this many streams; false if out of memory. Call hk_merge_window_fini in both
 * cases. */
bool hk_merge_window_init(struct hk_merge_window *window, size_t streams);
void hk_merge_window_fini(struct hk_merge_window *window);

/* Takes the streams' next records, at least one. Returns false, without any change, if the next
 * records are out of order, outside the `range_ns` from `base_ns` on, or too many. */
bool hk_merge_window_open(struct hk_merge_window *window, struct hk_merge_streams *streams,
			  int64_t base_ns, uint64_t range_ns);

/* The window's next record; there must be one. */
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
