#include "collector/replay.h"

#include <errno.h>

#include "chunk/cursor.h"

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
		hk_ledger_advance(ledger, records[count - 1].start_ticks);
	}
	return r;
}

int hk_replay_file(struct hk_ledger *ledger, int fd)
{
	struct hk_loader *loader = hk_loader_new();
	if (!loader) {
		return -ENOMEM;
	}
	struct hk_cursor *cursor;
	int r = hk_cursor_new(loader, fd, &cursor);
	if (r == 0) {
		r = replay_into(ledger, cursor);
		hk_cursor_free(cursor);
	}
	hk_loader_free(loader);
	return r;
}
