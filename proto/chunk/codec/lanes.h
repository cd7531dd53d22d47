/* lanes.h: the columns of a lane section, written and read. A lane holds the records that one
 * thread wrote to one of its streams, in order of the calls' ends. Records come in runs of one
 * lane. Their fields go to columns that all lanes share, so that a thousand threads need no more
 * buffers than one. Site, kind and number of words of a record are its shape, referred to by a
 * small number. Private to writer.c and reader.c. Threading: locked by the caller. Lifetime: init
 * or {0}, any calls, fini; clear keeps the memory for the next chunk. */
#ifndef HK_CHUNK_CODEC_LANES_H
#define HK_CHUNK_CODEC_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/format.h"
#include "chunk/codec/intern.h"
#include "chunk/codec/varints.h"

struct hk_column {
	uint8_t *bytes;
	size_t used, capacity;
};

#define HK_LANES_BATCH 256u
#define HK_LANES_RECENT_BITS 8u
#define HK_LANES_RECENT (1u << HK_LANES_RECENT_BITS)

/* Records of one lane that are added together: a loop per column stays in registers, and is three
 * times as fast as one record at a time. */
struct hk_lanes_batch {
	uint32_t count; /* number of records, at most HK_LANES_BATCH */
	uint32_t words; /* payload words of all of them */
	uint64_t start_ticks[HK_LANES_BATCH];
	uint64_t duration_ns[HK_LANES_BATCH];
	uint32_t shapes[HK_LANES_BATCH]; /* site | kind << 20 | payload words << 24 */
	/* Payload of the first record; HK_CHUNK_RAW_HEADER_WORDS lie between two payloads. */
	const uint64_t *payload;
};

struct hk_lanes_recent {
	uint32_t shape; /* 0: free, since no record has kind 0 */
	uint32_t number;
};

struct hk_lanes {
	struct hk_lanes_directory head; /* counts so far; column_bytes are set by hk_lanes_close */
	struct hk_column columns[HK_LANES_COLUMNS];
	struct hk_intern shape_index;
	struct hk_lanes_recent
	    recent[HK_LANES_RECENT]; /* recent entries of shape_index, probed first */
	uint32_t *shape_words;	     /* per shape: position of its last words in `previous` */
	uint64_t *previous;	     /* last words of every shape */
	uint64_t *lane_start;	     /* per lane: start of its last record */
	uint32_t previous_used;
	uint32_t shape_capacity, previous_capacity, lane_capacity;
	uint32_t record_room; /* records the per-record columns can take */
	uint32_t run_lane, run_records;
	uint64_t min_start_ticks;
	hk_varints_put_fn *put;
};

/* Records read back. The arrays are reused by the next decode and freed by hk_lanes_decoded_fini.
 */
struct hk_lanes_decoded {
	struct hk_record *records; /* `count`; in the order written */
	uint64_t *words;
	uint64_t *lane_start;
	uint32_t *shape_words;
	uint64_t *previous;
	size_t count;
	size_t record_capacity, word_capacity, lane_capacity, shape_capacity, previous_capacity;
};

/* Makes an empty section. Returns 0 or -ENOMEM. */
int hk_lanes_init(struct hk_lanes *lanes);

/* Adds the records of a batch to a lane. Each has a kind and at most HK_CHUNK_RAW_PAYLOAD_MAX
 * words. The caller keeps within HK_CHUNK_RECORDS_MAX and HK_CHUNK_WORDS_MAX and numbers lanes from
 * 0 without gaps. Returns the number of records added from the front; less than all if out of
 * memory. */
uint32_t hk_lanes_add(struct hk_lanes *lanes, uint32_t lane, const struct hk_lanes_batch *batch);

/* Ends the section: its bytes are lanes->head and the columns, in order. Returns their number or
 * -ENOMEM. */
int64_t hk_lanes_close(struct hk_lanes *lanes);

/* Forgets all records. */
void hk_lanes_clear(struct hk_lanes *lanes);

/* Frees everything; accepts a zeroed one. */
void hk_lanes_fini(struct hk_lanes *lanes);

/* Decodes a section. Records point into `threads` (the lanes, borrowed) and into the result's own
 * arrays. Returns 0, -EBADMSG on bytes that no writer makes, after allocating at most a few MiB, or
 * -ENOMEM. */
int hk_lanes_decode(const uint8_t *bytes, size_t size, const struct hk_chunk_thread *threads,
		    size_t thread_count, struct hk_lanes_decoded *decoded);

/* Frees the arrays; accepts a zeroed one. */
void hk_lanes_decoded_fini(struct hk_lanes_decoded *decoded);

#endif
