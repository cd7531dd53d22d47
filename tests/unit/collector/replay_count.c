#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "chunk/read/cursor.h"

#include "replay_count.h"

uint64_t count_stored_records(const char *path)
{
	uint64_t total = 0, last = 0;
	const struct hk_record *records;
	struct hk_cursor *cursor;
	size_t count;
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	struct hk_loader *loader = hk_loader_new();
	assert_int_equal(hk_cursor_new(loader, fd, &cursor), 0);
	int r;
	while ((r = hk_cursor_batch(cursor, &records, &count)) > 0) {
		for (size_t i = 0; i < count; i++) {
			assert_true(records[i].start_ticks > last);
			last = records[i].start_ticks;
		}
		total += count;
	}
	assert_int_equal(r, 0);
	assert_int_equal(hk_cursor_stats(cursor)->damaged, 0);
	assert_int_equal(hk_cursor_stats(cursor)->records, total);
	hk_cursor_free(cursor);
	hk_loader_free(loader);
	close(fd);
	return total;
}
