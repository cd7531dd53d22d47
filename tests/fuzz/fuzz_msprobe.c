/* links: hk_cli */
/* msprobe's files made by an enemy: one input is dump.json, stack.json and construct.json at once.
 * What is taken must be rows that can be read. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/compare/foreign/msprobe_rows.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"dump.json", "stack.json", "construct.json"};
static char directory[] = "/tmp/fuzz-msprobe-XXXXXX";

static void directory_remove(void)
{
	char path[64];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	rmdir(directory);
}

static void files_write(const uint8_t *data, size_t size)
{
	static int made;
	char path[64];

	if (!made++) {
		REQUIRE(mkdtemp(directory) && atexit(directory_remove) == 0);
	}
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
		close(fd);
	}
}

static void use(struct hk_values *values)
{
	for (size_t i = 0; i < values->count; i++) {
		struct hk_dump_row row;
		const char *const *frames, *reason;
		values->ops->row(values, i, &row);
		uint32_t count = values->ops->stack(values, row.stack, &frames);
		REQUIRE(strlen(row.name) > 0 || row.kind != HK_DUMP_API);
		REQUIRE(count == 0 || frames[count - 1]);
		REQUIRE(!values->ops->elements(values, i, &reason));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char reason[HK_ARRAY_REASON_BYTES];
	struct hk_foreign_rows *rows = hk_foreign_rows_new(0, "{}");
	uint64_t sequence = 0;

	files_write(data, size);
	hk_msprobe_rows_read(rows, directory, 0, &sequence, reason);
	struct hk_values *values = hk_foreign_rows_values(rows);
	use(values);
	values->ops->close(values);
	return 0;
}
