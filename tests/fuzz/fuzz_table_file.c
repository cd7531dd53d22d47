/* links: hk_collector */
/* A table of functions on disk, in the user's cache directory. One that is taken names any address
 * with a text of its own, or with none. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "collector/symbol/table_file.h"

#define ID_BYTES 20u
#define HEADER_BYTES 112u
#define CHECKSUM 32u
#define NAME "0101010101010101010101010101010101010101.symbols"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int directory = -1;
static char base[] = "/tmp/hk-fuzz-tables-XXXXXX";

static void remove_base(void)
{
	unlinkat(directory, NAME, 0);
	rmdir(base);
}

static void look_up(const struct hk_symbol_table *table)
{
	const struct hk_symbols_content content = hk_symbol_table_content(table);

	for (uint64_t at = 0; at < 300; at++) {
		uint64_t address = at < 100   ? at * 16
				   : at < 200 ? UINT64_MAX - at
				   : content.count
				       ? content.symbols[at % content.count].start + at % 3
				       : at;
		const char *name = hk_symbol_table_find(table, address);
		REQUIRE(!name ||
			(name >= content.names && name < content.names + content.names_bytes &&
			 memchr(name, '\0', content.names_bytes - (size_t)(name - content.names))));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t build_id[ID_BYTES], *copy = malloc(size + 1);
	struct hk_symbol_table *table;

	REQUIRE(copy);
	memcpy(copy, data, size);
	memset(build_id, 1, sizeof(build_id));
	if (directory < 0) {
		REQUIRE(mkdtemp(base));
		directory = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		atexit(remove_base);
	}
	if (size > HEADER_BYTES) {
		/* A checksum that is not the file's would hide all behind it. */
		uint64_t checksum = XXH3_64bits(copy + HEADER_BYTES, size - HEADER_BYTES);
		memcpy(copy + CHECKSUM, &checksum, sizeof(checksum));
	}
	int fd = openat(directory, NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && write(fd, copy, size) == (ssize_t)size);
	close(fd);
	free(copy);
	if (hk_table_file_load(directory, build_id, sizeof(build_id), &table) == 0) {
		look_up(table);
		hk_symbol_table_free(table);
	}
	return 0;
}
