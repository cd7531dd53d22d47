/* lanes.h: the columns of a lane section, written and read.
 *
 * A lane is what one thread wrote to one of its streams, in order of the calls' ends. Records come
 * in runs of one lane; their fields go to columns that all lanes share, so that a thousand threads
 * cost no more buffers than one. Site, kind and number of words of a record are its shape, named by
 * a small number. Used by writer.c and reader.c; nobody else needs it. Threading: locked by the
 * caller. Lifetime: init or {0}, any calls, fini; clear keeps the memory for the next chunk.
 */
#ifndef HK_CHUNK_LANES_H
#define HK_CHUNK_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/format.h"
#include "chunk/intern.h"

struct hk_column {
	uint8_t *bytes;
	size_t used, capacity;
};

struct hk_lanes {
	struct hk_lanes_directory head; /* counts so far; column_bytes are set by hk_lanes_close */
	struct hk_column columns[HK_LANES_COLUMNS];
	struct hk_intern shape_index;
	uint32_t *shape_words; /* per shape: where its last words lie in `previous` */
	uint64_t *previous;    /* last words of every shape */
	uint64_t *lane_start;  /* per lane: start of its last record */
	uint32_t previous_used;
	uint32_t shape_capacity, previous_capacity, lane_capacity;
	uint32_t record_room; /* records the per-record columns can take */
	uint32_t run_lane, run_records;
	uint64_t min_start_ticks;
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

/* Makes an empty section; -ENOMEM. */
int hk_lanes_init(struct hk_lanes *lanes);

/* Adds one record: `shape` is site | kind << 20 | payload words << 24, at most
 * HK_CHUNK_RAW_PAYLOAD_MAX of them. The caller keeps to HK_CHUNK_RECORDS_MAX and HK_CHUNK_WORDS_MAX
 * and numbers lanes from 0 without gaps. -ENOMEM: not added. */
int hk_lanes_add(struct hk_lanes *lanes, uint32_t lane, uint64_t start_ticks, uint64_t duration_ns,
		 uint32_t shape, const uint64_t *words);

/* Ends the section: lanes->head and the columns, in order, are its bytes. Returns their number.
 * -ENOMEM. */
int64_t hk_lanes_close(struct hk_lanes *lanes);

/* Forgets all records. */
void hk_lanes_clear(struct hk_lanes *lanes);

/* Frees everything; a zeroed one is fine. */
void hk_lanes_fini(struct hk_lanes *lanes);

/* Decodes a section. Records point into `threads` (the lanes, borrowed) and into the result's own
 * arrays. Fails with -EBADMSG on bytes no writer makes, with at most a few MiB allocated, and with
 * -ENOMEM. */
int hk_lanes_decode(const uint8_t *bytes, size_t size, const struct hk_chunk_thread *threads,
		    size_t thread_count, struct hk_lanes_decoded *decoded);

/* Frees the arrays; a zeroed one is fine. */
void hk_lanes_decoded_fini(struct hk_lanes_decoded *decoded);

#endif
