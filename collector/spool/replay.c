#include "collector/spool/replay.h"

#include <errno.h>

#include "chunk/codec/header.h"
#include "chunk/read/cursor.h"

/* The file may have later records of one thread than the segment has of another. So the newest
 * effects wait until the segment is read. A segment rarely holds more than HELD. */
#define HELD (1u << 20)

static int replay_into(struct hk_ledger *ledger, struct hk_cursor *cursor)
{
	const struct hk_record *records;
	size_t count;
	int r;
	while ((r = hk_cursor_batch(cursor, &records, &count)) > 0) {
		for (size_t i = 0; i < count; i++) {
			r = hk_ledger_add(ledger, &records[i]);
			if (r < 0) {
				return r;
			}
		}
		/* Batches come in order of start, and nothing takes effect before it starts. */
		hk_ledger_advance_but(ledger, records[count - 1].start_ticks, HELD);
	}
	return r;
}

/* Counts the records that are missing behind AFTER. Of a tombstone for chunks on both sides of
 * AFTER, all count: how many lie behind is unknown. */
static int count_missing(int fd, uint64_t after, uint64_t *ret_missing)
{
	struct hk_chunk_walk walk = HK_CHUNK_WALK(fd);
	struct hk_chunk_header header;
	uint64_t offset, missing = 0;
	int r;
	while ((r = hk_chunk_walk_next(&walk, &header, &offset)) > 0 &&
	       hk_chunk_is_evicted(&header)) {
		missing += header.number > after ? header.shed_records : 0;
	}
	*ret_missing = missing;
	return r < 0 ? r : 0;
}

int hk_replay_file(struct hk_ledger *ledger, int fd, uint64_t after, uint64_t *ret_missing)
{
	int r = count_missing(fd, after, ret_missing);
	if (r < 0) {
		return r;
	}
	struct hk_loader *loader = hk_loader_new();
	if (!loader) {
		return -ENOMEM;
	}
	struct hk_cursor *cursor;
	r = hk_cursor_new_after(loader, fd, after, &cursor);
	if (r == 0) {
		r = replay_into(ledger, cursor);
		hk_cursor_free(cursor);
	}
	hk_loader_free(loader);
	return r;
}
