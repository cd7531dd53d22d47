/* links: hk_collector */
/* The image of a ledger made by an enemy, without the checksum that would keep everything else out.
 * What is taken must be a ledger that works. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/memory/ledger_image.h"
#include "hooks/hook.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int define_site(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	(void)context;
	*ret_site = (struct hk_chunk_site){
	    .id = id,
	    .meaning = (uint8_t)(HK_MEANING_ALLOC + id % 6),
	    .key_count = 2,
	    .keys = {HK_KEY_POINTER, HK_KEY_SIZE},
	    .function = "f",
	    .library = "/lib/a.so",
	    .domain = "d",
	};
	return 0;
}

static void use(struct hk_ledger *ledger)
{
	const struct hk_chunk_thread thread = {.uid = 1};
	struct hk_ledger_row row;
	for (uint32_t i = 0; i < 60; i++) {
		const uint64_t words[2] = {(uint64_t)(i / 6) * 4096, 4096};
		const struct hk_record record = {
		    .start_ticks = i,
		    .words = words,
		    .thread = &thread,
		    .site = i,
		    .kind = HK_CHUNK_KIND_CALL,
		    .word_count = 2,
		};
		REQUIRE(hk_ledger_add(ledger, &record) == 0);
		hk_ledger_advance(ledger, i);
	}
	hk_ledger_advance(ledger, UINT64_MAX);
	for (size_t i = 0; hk_ledger_row(ledger, i, &row) > 0; i++) {
		REQUIRE(strlen(row.library) > 0 || row.kind);
		const struct hk_series *series = row.series;
		REQUIRE(!series || (series->count > 0 && series->count <= HK_SERIES_BINS &&
				    series->last_bytes[series->count - 1] == row.live_bytes));
	}
}

static void take(const uint8_t *data, size_t size, unsigned major)
{
	const struct hk_ledger_options options = {.ticks_per_ns = 1.0, .site = define_site};
	struct hk_ledger *ledger = hk_ledger_new(&options);
	int fd = memfd_create("image", MFD_CLOEXEC);
	REQUIRE(ledger && fd >= 0);
	REQUIRE(write(fd, data, size) == (ssize_t)size);
	REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
	struct hk_image *image = hk_image_begin(fd);
	REQUIRE(image);
	if (hk_ledger_image_get(ledger, major, image) == 0) {
		use(ledger);
	}
	hk_image_free(image);
	close(fd);
	hk_ledger_free(ledger);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	take(data, size, HK_LEDGER_IMAGE_MAJOR - 1);
	take(data, size, HK_LEDGER_IMAGE_MAJOR);
	return 0;
}
