#include "dump/read/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "dump/planes.h"

#define SEARCH_BYTES 65536u

int hk_blocks_open(struct hk_blocks *blocks, const char *path)
{
	struct stat status;

	*blocks = (struct hk_blocks){0};
	/* A FIFO or device of that name must not be waited for. */
	blocks->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (blocks->fd < 0) {
		return -errno;
	}
	if (fstat(blocks->fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		hk_blocks_close(blocks);
		return -EINVAL;
	}
	blocks->size = (uint64_t)status.st_size;
	blocks->context = ZSTD_createDCtx();
	if (!blocks->context) {
		hk_blocks_close(blocks);
		return -ENOMEM;
	}
	return 0;
}

void hk_blocks_close(struct hk_blocks *blocks)
{
	if (blocks->fd >= 0) {
		close(blocks->fd);
	}
	ZSTD_freeDCtx(blocks->context);
	free(blocks->stored);
	free(blocks->raw);
	free(blocks->planes);
	*blocks = (struct hk_blocks){.fd = -1};
}

void hk_blocks_note(struct hk_blocks *blocks, const char *format, ...)
{
	va_list arguments;

	if (blocks->places++ == 0) {
		va_start(arguments, format);
		vsnprintf(blocks->damage, sizeof(blocks->damage), format, arguments);
		va_end(arguments);
	}
}

/* Reads up to SIZE bytes. Returns how many there are. */
static size_t read_at(const struct hk_blocks *blocks, void *to, size_t size, uint64_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(blocks->fd, (char *)to + done, size - done, (off_t)(at + done));
		if (got == 0 || (got < 0 && errno != EINTR)) {
			break;
		}
		done += got > 0 ? (size_t)got : 0;
	}
	return done;
}

static uint64_t extent(const struct hk_dump_block *block)
{
	return sizeof(*block) + block->stored_bytes + (-block->stored_bytes & 7);
}

/* Whether the header is right, and its block lies within the file. */
static bool is_right(const struct hk_blocks *blocks, const struct hk_dump_block *block, uint64_t at)
{
	return block->magic == HK_DUMP_MAGIC &&
	       block->header_checksum ==
		   XXH3_64bits(block, offsetof(struct hk_dump_block, header_checksum)) &&
	       block->stored_bytes < blocks->size && extent(block) <= blocks->size - at;
}

static bool read_header(const struct hk_blocks *blocks, struct hk_dump_block *block, uint64_t at)
{
	return at < blocks->size && read_at(blocks, block, sizeof(*block), at) == sizeof(*block) &&
	       is_right(blocks, block, at);
}

/* The next place from AT on with a header that is right, or the file's size. */
static uint64_t search(const struct hk_blocks *blocks, struct hk_dump_block *block, uint64_t at)
{
	const uint64_t magic = HK_DUMP_MAGIC;
	char *window = malloc(SEARCH_BYTES);

	while (window && at < blocks->size) {
		size_t got = read_at(blocks, window, SEARCH_BYTES, at);
		const char *found = memmem(window, got, &magic, sizeof(magic));
		if (found) {
			at += (uint64_t)(found - window);
			if (read_header(blocks, block, at)) {
				free(window);
				return at;
			}
			at++;
		} else if (got < SEARCH_BYTES) {
			break;
		} else {
			at += SEARCH_BYTES - sizeof(magic) + 1;
		}
	}
	free(window);
	return blocks->size;
}

bool hk_blocks_next(struct hk_blocks *blocks, struct hk_dump_block *block, uint64_t *ret_at)
{
	uint64_t at = blocks->next;

	if (at < blocks->size && !read_header(blocks, block, at)) {
		const uint64_t found = search(blocks, block, at + 1);
		if (found == blocks->size) {
			hk_blocks_note(blocks,
				       "the last block, at byte %" PRIu64
				       ", is torn: its process was killed, or is writing",
				       at);
		} else {
			hk_blocks_note(blocks, "bytes %" PRIu64 " to %" PRIu64 " are damaged", at,
				       found);
		}
		at = found;
	}
	if (at >= blocks->size) {
		blocks->next = blocks->size;
		return false;
	}
	*ret_at = at;
	blocks->next = at + extent(block);
	return true;
}

/* Memory of at least SIZE bytes, or NULL. */
static void *reserve(void **memory, size_t *room, size_t size)
{
	if (size > *room || !*memory) {
		free(*memory);
		*memory = malloc(size + 1);
		*room = *memory ? size : 0;
	}
	return *memory;
}

static int read_stored(const struct hk_blocks *blocks, const struct hk_dump_block *block,
		       uint64_t at, void *to)
{
	if (read_at(blocks, to, block->stored_bytes, at + sizeof(*block)) != block->stored_bytes ||
	    XXH3_64bits(to, block->stored_bytes) != block->body_checksum) {
		return -EBADMSG;
	}
	return 0;
}

/* Decompresses the body, which is in blocks->stored. Returns false if it is damaged. */
static bool decompress(struct hk_blocks *blocks, const struct hk_dump_block *block, void *to)
{
	return ZSTD_decompressDCtx(blocks->context, to, block->raw_bytes, blocks->stored,
				   block->stored_bytes) == block->raw_bytes;
}

/* The same where the elements were made planes. */
static int decompress_planes(struct hk_blocks *blocks, const struct hk_dump_block *block, void *to)
{
	const size_t width = hk_dtype_bytes((enum hk_dtype)(block->argument[2] & 0xff));

	if (block->type != HK_DUMP_BLOCK_PAYLOAD || width == 0 || block->raw_bytes % width != 0) {
		return -EBADMSG;
	}
	if (!reserve(&blocks->planes, &blocks->planes_room, block->raw_bytes)) {
		return -ENOMEM;
	}
	if (!decompress(blocks, block, blocks->planes)) {
		return -EBADMSG;
	}
	hk_planes_read(to, blocks->planes, block->raw_bytes / width, width, width);
	return 0;
}

int hk_blocks_read(struct hk_blocks *blocks, const struct hk_dump_block *block, uint64_t at,
		   void *to)
{
	int rc;

	if (block->flags & ~(HK_DUMP_BLOCK_ZSTD | HK_DUMP_BLOCK_PLANES)) {
		return -ENOTSUP;
	}
	if (block->flags == 0) {
		return block->stored_bytes == block->raw_bytes ? read_stored(blocks, block, at, to)
							       : -EBADMSG;
	}
	if (!(block->flags & HK_DUMP_BLOCK_ZSTD) || block->stored_bytes >= block->raw_bytes) {
		return -EBADMSG;
	}
	if (!reserve(&blocks->stored, &blocks->stored_room, block->stored_bytes)) {
		return -ENOMEM;
	}
	rc = read_stored(blocks, block, at, blocks->stored);
	if (rc != 0) {
		return rc;
	}
	if (block->flags & HK_DUMP_BLOCK_PLANES) {
		return decompress_planes(blocks, block, to);
	}
	return decompress(blocks, block, to) ? 0 : -EBADMSG;
}

int hk_blocks_body(struct hk_blocks *blocks, const struct hk_dump_block *block, uint64_t at,
		   const void **ret_body)
{
	/* What is allocated is in proportion to the file. */
	if (block->raw_bytes > HK_DUMP_BODY_MAX ||
	    block->raw_bytes / HK_DUMP_RATIO_MAX > block->stored_bytes) {
		return -EBADMSG;
	}
	if (!reserve(&blocks->raw, &blocks->raw_room, block->raw_bytes)) {
		return -ENOMEM;
	}
	*ret_body = blocks->raw;
	return hk_blocks_read(blocks, block, at, blocks->raw);
}
