/* links: test_segment_maker */
/* Any bytes as a segment's file: opened, walked, given back, walked again. Blocks are mostly zeros,
 * so the input holds the first HEAD_BYTES of the header's block and PART_BYTES of each further one.
 * The last part is an answer to a request for a stack as well, and texts in the block before it.
 * The file's name is made from the uid in the bytes, because the reader refuses every other. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/segment.h"
#include "segment_walk.h"

#define HEAD_BYTES 5120u
#define PART_BYTES 1024u
#define PARTS_MAX 63u
#define TEXT_OFFSET (off_t)(sizeof(struct hk_block) + offsetof(struct hk_ask_python, text))
static_assert(sizeof(struct hk_segment_header) <= HEAD_BYTES, "the whole header is fuzzed");

static char directory[] = "/dev/shm/hk-fuzz-segment-XXXXXX";
static int dirfd = -1;

static void remove_directory(void)
{
	rmdir(directory);
}

static void put(int fd, const void *bytes, size_t size, off_t offset)
{
	if (pwrite(fd, bytes, size, offset) != (ssize_t)size) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[48] = "";

	if (size < HEAD_BYTES) {
		return 0;
	}
	if (dirfd < 0) {
		if (!mkdtemp(directory)) {
			abort();
		}
		atexit(remove_directory);
		dirfd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	const uint8_t *uid = data + offsetof(struct hk_segment_header, uid);
	for (size_t i = 0; i < 16; i++) {
		snprintf(name + 2 * i, 3, "%02x", uid[i]);
	}
	memcpy(name + 32, HK_SEGMENT_SUFFIX, sizeof(HK_SEGMENT_SUFFIX));

	int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t parts = (size - HEAD_BYTES) / PART_BYTES;
	parts = parts < PARTS_MAX ? parts : PARTS_MAX;
	if (fd < 0 || ftruncate(fd, (off_t)(parts + 1) * HK_BLOCK_BYTES) < 0) {
		abort();
	}
	put(fd, data, HEAD_BYTES, 0);
	for (size_t i = 0; i < parts; i++) {
		put(fd, data + HEAD_BYTES + i * PART_BYTES, PART_BYTES,
		    (off_t)(i + 1) * HK_BLOCK_BYTES);
	}
	if (parts > 0) {
		const uint64_t state = (uint64_t)SEGMENT_WALK_TID << 32 | HK_ASK_ANSWERED;
		const uint8_t *last = data + HEAD_BYTES + (parts - 1) * PART_BYTES;
		put(fd, last, PART_BYTES, TEXT_OFFSET + (off_t)(parts - 1) * HK_BLOCK_BYTES);
		put(fd, last, PART_BYTES, HK_ASK_OFFSET);
		put(fd, &state, sizeof(state), HK_ASK_OFFSET);
	}
	segment_walk_file(dirfd, name);
	unlinkat(dirfd, name, 0);
	close(fd);
	return 0;
}
