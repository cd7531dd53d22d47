/* links: hk_chunk */
/* Chunks made by an enemy. The first byte says how the rest is used: as a chunk (its checksums are
 * set right, or nothing behind them would ever be reached), as a lane section, as raw words for the
 * writer, or as a file of chunks. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/codec/lanes.h"
#include "chunk/codec/writer.h"
#include "chunk/read/cursor.h"
#include "chunk/read/reader.h"

#define THREADS 4
#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches all that a record claims to have. */
static uint64_t sum_records(const struct hk_record *records, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		REQUIRE(records[i].word_count <= HK_CHUNK_RAW_PAYLOAD_MAX);
		REQUIRE(records[i].site < HK_CHUNK_SITES_MAX);
		sum += records[i].start_ticks + records[i].thread->tid;
		for (unsigned w = 0; w < records[i].word_count; w++) {
			sum += records[i].words[w];
		}
	}
	return sum;
}

static uint8_t *seal_copy(const uint8_t *data, size_t size)
{
	struct hk_chunk_header header;
	uint8_t *copy = malloc(size ? size : 1);

	REQUIRE(copy);
	memcpy(copy, data, size);
	if (size >= sizeof(header)) {
		memcpy(&header, copy, sizeof(header));
		header.magic = HK_CHUNK_MAGIC;
		if (header.major != HK_CHUNK_MAJOR_FIRST) {
			header.major = HK_CHUNK_MAJOR;
		}
		header.header_bytes = HK_CHUNK_HEADER_BYTES;
		memcpy(copy, &header, sizeof(header));
		hk_chunk_header_seal(copy, size);
	}
	return copy;
}

static void fuzz_reader(const uint8_t *data, size_t size)
{
	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	uint8_t *copy = seal_copy(data, size);

	if (hk_chunk_reader_open(reader, copy, size) == 0) {
		const struct hk_chunk_position *positions;
		const struct hk_chunk_site *sites;
		const struct hk_record *records;
		size_t count;
		(void)hk_chunk_reader_positions(reader, &positions, &count);
		if (hk_chunk_reader_sites(reader, &sites, &count) == 0) {
			for (size_t i = 0; i < count; i++) {
				REQUIRE(strlen(sites[i].function) + strlen(sites[i].library) +
					    strlen(sites[i].domain) <=
					3 * HK_CHUNK_STRING_MAX);
			}
		}
		for (uint32_t type = HK_SECTION_LANES; type <= HK_SECTION_LONG_LANES; type++) {
			if (hk_chunk_reader_records(reader, type, &records, &count) == 0) {
				(void)sum_records(records, count);
			}
		}
	}
	free(copy);
	hk_chunk_reader_free(reader);
}

static void fuzz_lanes(const uint8_t *data, size_t size)
{
	const struct hk_chunk_thread threads[THREADS] = {{.uid = 1}, {.uid = 2}, {.uid = 3}};
	struct hk_lanes_decoded decoded = {0};

	if (hk_lanes_decode(data, size, threads, THREADS, &decoded) == 0) {
		(void)sum_records(decoded.records, decoded.count);
	}
	hk_lanes_decoded_fini(&decoded);
}

/* What the writer takes the reader gives back, in the same number. */
static void fuzz_writer(const uint8_t *data, size_t size)
{
	const struct hk_chunk_options options = {.ticks_per_ns = 2.5, .uncompressed = size & 1};
	struct hk_chunk_writer *writer = hk_chunk_writer_new(&options);
	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	struct hk_chunk_position chain = {.thread = 1};
	size_t count = size / 8, consumed, made, got[2];
	uint64_t *words = malloc(count * 8 + 1);
	const struct hk_record *records;
	const void *bytes;

	REQUIRE(writer && reader && words);
	memcpy(words, data, count * 8);
	hk_chunk_writer_begin(writer, (const uint8_t[16]){0}, 1);
	int rc = hk_chunk_writer_add(writer, &chain, words, count, &consumed);
	REQUIRE(consumed <= count && (rc < 0 || consumed == count));
	REQUIRE(chain.position == consumed * 8);
	REQUIRE(hk_chunk_writer_finish(writer, 0, &bytes, &made) == 0);
	REQUIRE(hk_chunk_reader_open(reader, bytes, made) == 0);
	REQUIRE(hk_chunk_reader_records(reader, HK_SECTION_LANES, &records, &got[0]) == 0);
	(void)sum_records(records, got[0]);
	REQUIRE(hk_chunk_reader_records(reader, HK_SECTION_LONG_LANES, &records, &got[1]) == 0);
	(void)sum_records(records, got[1]);
	REQUIRE(got[0] + got[1] == hk_chunk_writer_records(writer));
	free(words);
	hk_chunk_reader_free(reader);
	hk_chunk_writer_free(writer);
}

static void read_cursor(int fd)
{
	struct hk_loader *loader = hk_loader_new();
	const struct hk_record *records;
	struct hk_cursor *cursor;
	size_t count;

	REQUIRE(hk_cursor_new(loader, fd, &cursor) == 0);
	while (hk_cursor_batch(cursor, &records, &count) > 0) {
		REQUIRE(count > 0);
		(void)sum_records(records, count);
		(void)hk_cursor_site(cursor, records[0].site);
	}
	hk_cursor_free(cursor);
	hk_loader_free(loader);
}

static void fuzz_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("chunks", MFD_CLOEXEC);
	uint8_t *copy = seal_copy(data, size);
	struct hk_chunk_scan scan;

	REQUIRE(fd >= 0);
	/* Garbage, the chunk, and garbage again. */
	REQUIRE(write(fd, data, size / 3) == (ssize_t)(size / 3));
	REQUIRE(write(fd, copy, size) == (ssize_t)size);
	REQUIRE(write(fd, data + size / 2, size - size / 2) == (ssize_t)(size - size / 2));
	REQUIRE(hk_chunk_file_scan(fd, &scan) == 0);
	REQUIRE(scan.valid_bytes <= scan.file_bytes);
	hk_chunk_scan_fini(&scan);
	read_cursor(fd);
	free(copy);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size) {
		return 0;
	}
	switch (data[0] % 4) {
	case 0:
		fuzz_reader(data + 1, size - 1);
		break;
	case 1:
		fuzz_lanes(data + 1, size - 1);
		break;
	case 2:
		fuzz_writer(data + 1, size - 1);
		break;
	default:
		fuzz_file(data + 1, size - 1);
		break;
	}
	return 0;
}
