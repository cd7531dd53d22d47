/* links: hk_dump */
/* A file of a dump made by an enemy. The first byte says how the rest is used: as it is; or as
 * blocks whose magic, sizes and checksums are set right, or nothing behind them would ever be
 * reached. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dump/format.h"
#include "dump/reader.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

/* Keeps the reads. */
volatile uint64_t read_sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void seal(uint8_t *bytes, size_t size)
{
	for (size_t at = 0; size - at >= sizeof(struct hk_dump_block);) {
		struct hk_dump_block block;
		memcpy(&block, bytes + at, sizeof(block));
		const size_t left = (size - at - sizeof(block)) / 8 * 8;
		block.magic = HK_DUMP_MAGIC;
		block.major = HK_DUMP_MAJOR;
		block.stored_bytes = block.stored_bytes < left ? block.stored_bytes : left;
		block.body_checksum = XXH3_64bits(bytes + at + sizeof(block), block.stored_bytes);
		block.header_checksum =
		    XXH3_64bits(&block, offsetof(struct hk_dump_block, header_checksum));
		memcpy(bytes + at, &block, sizeof(block));
		at += sizeof(block) + (block.stored_bytes + 7) / 8 * 8;
	}
}

/* Touches all that a row claims to have. */
static uint64_t sum_row(struct hk_dump_file *file, size_t index)
{
	const char *const *frames;
	const char *reason = NULL;
	struct hk_dump_row row;
	uint64_t sum = 0;

	hk_dump_file_row(file, index, &row);
	sum += strlen(row.name) + strlen(row.of) + strlen(row.slot) + strlen(row.device);
	sum += row.scalar ? strlen(row.scalar) : 0;
	REQUIRE(row.dimensions <= HK_TENSOR_DIMENSIONS);
	for (uint32_t d = 0; d < row.dimensions; d++) {
		sum += row.shape[d];
	}
	const uint32_t many = hk_dump_file_stack(file, row.stack, &frames);
	for (uint32_t i = 0; i < many; i++) {
		read_sum += strlen(frames[i]);
	}
	const uint8_t *elements = hk_dump_file_elements(file, index, &reason);
	REQUIRE(elements || reason);
	REQUIRE(!elements || row.has_payload);
	const size_t bytes = elements ? row.statistics.count * hk_dtype_bytes(row.dtype) : 0;
	for (size_t i = 0; i < bytes; i++) {
		sum += elements[i];
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], reason[256];
	const char *damage;
	bool complete;

	if (size == 0) {
		return 0;
	}
	uint8_t *bytes = malloc(size);
	int fd = memfd_create("dump", MFD_CLOEXEC);
	REQUIRE(bytes && fd >= 0);
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & 1) {
		seal(bytes, size - 1);
	}
	REQUIRE(write(fd, bytes, size - 1) == (ssize_t)(size - 1));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct hk_dump_file *file = hk_dump_file_open(path, reason, sizeof(reason));
	if (file) {
		for (size_t i = 0; i < hk_dump_file_rows(file) && i < 100; i++) {
			read_sum += sum_row(file, i);
		}
		read_sum += strlen(hk_dump_file_about(file)) + hk_dump_file_rank(file);
		(void)hk_dump_file_counts(file, &complete, &damage);
		hk_dump_file_close(file);
	}
	free(bytes);
	close(fd);
	return 0;
}
