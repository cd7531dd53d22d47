#include "chunk/read/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/codec/positions.h"
#include "chunk/read/reader.h"

#define WINDOW_BYTES 65536u

uint64_t hk_chunk_file_location(uint64_t end_bytes)
{
	uint64_t left = HK_CHUNK_PAGE_BYTES - end_bytes % HK_CHUNK_PAGE_BYTES;

	if (end_bytes > 0 && end_bytes < HK_CHUNK_FILE_ROOM) {
		return HK_CHUNK_FILE_ROOM;
	}
	return left < HK_CHUNK_HEADER_BYTES ? end_bytes + left : end_bytes;
}

int hk_chunk_file_append(int fd, uint64_t end_bytes, const void *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n =
		    pwrite(fd, (const char *)bytes + done, size - done, (off_t)(end_bytes + done));
		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			int rc = n == 0 ? -ENOSPC : -errno;
			if (ftruncate(fd, (off_t)end_bytes) < 0) {
				/* The torn tail stays; readers skip it, a scan finds it. */
			}
			return rc;
		}
	}
	return 0;
}

/* Reads up to `size` bytes; returns their number or -errno. */
static ssize_t read_some(int fd, uint64_t offset, void *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
		if (n == 0) {
			break;
		}
		if (n > 0) {
			done += (size_t)n;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return (ssize_t)done;
}

int hk_chunk_file_read(int fd, uint64_t offset, size_t size, struct hk_chunk_buffer *buffer)
{
	if (size > buffer->capacity) {
		uint8_t *grown = malloc(size);
		if (!grown) {
			return -ENOMEM;
		}
		free(buffer->bytes);
		*buffer = (struct hk_chunk_buffer){grown, size};
	}
	ssize_t n = read_some(fd, offset, buffer->bytes, size);
	if (n < 0) {
		return (int)n;
	}
	return (size_t)n == size ? 0 : -EBADMSG;
}

/* Moves *at over a hole that the file system knows: a sparse terabyte is not read. Returns false if
 * no data follows. */
static bool skip_hole(int fd, uint64_t *at)
{
	off_t data = lseek(fd, (off_t)*at, SEEK_DATA);

	if (data > (off_t)*at) {
		*at = (uint64_t)data;
	}
	return data >= 0 || errno != ENXIO;
}

/* Moves *at to the next position, at or after it, that may hold a header. Returns 1, 0 at the end,
 * or -errno. */
static int find_magic(int fd, uint64_t *at)
{
	const uint64_t magic = HK_CHUNK_MAGIC;
	uint8_t window[WINDOW_BYTES];

	while (skip_hole(fd, at)) {
		ssize_t n = read_some(fd, *at, window, sizeof(window));
		if (n < 0) {
			return (int)n;
		}
		if ((size_t)n < sizeof(magic)) {
			return 0;
		}
		const uint8_t *found = memmem(window, (size_t)n, &magic, sizeof(magic));
		if (found) {
			*at += (uint64_t)(found - window);
			return 1;
		}
		/* A magic may lie across the windows' border. */
		*at += (uint64_t)n - (sizeof(magic) - 1);
	}
	return 0;
}

static int file_size(int fd, uint64_t *ret_bytes)
{
	struct stat status;

	if (fstat(fd, &status) < 0) {
		return -errno;
	}
	*ret_bytes = (uint64_t)status.st_size;
	return 0;
}

/* Checks the chunk at *at. Returns 1 if it belongs to the walk, 0 if not, -EPROTO if a newer
 * version wrote it, or -errno. */
static int check_chunk(struct hk_chunk_walk *walk, uint64_t size,
		       struct hk_chunk_header *ret_header)
{
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	struct hk_chunk_header header;
	ssize_t n = read_some(walk->fd, walk->at, bytes, sizeof(bytes));

	if (n < 0) {
		return (int)n;
	}
	int rc = hk_chunk_header_read(bytes, (size_t)n, &header);
	if (rc == -EPROTO) {
		return rc;
	}
	if (rc < 0 || header.span > size - walk->at || header.number <= walk->last_number) {
		return 0;
	}
	if (walk->started && memcmp(walk->process, header.process, sizeof(walk->process)) != 0) {
		return 0;
	}
	*ret_header = header;
	return 1;
}

int hk_chunk_walk_next(struct hk_chunk_walk *walk, struct hk_chunk_header *ret_header,
		       uint64_t *ret_offset)
{
	struct hk_chunk_header header;
	uint64_t size = 0;
	int rc = file_size(walk->fd, &size);

	while (rc == 0 && walk->at < size) {
		rc = check_chunk(walk, size, &header);
		if (rc == 0) {
			walk->at++;
			rc = find_magic(walk->fd, &walk->at);
			if (rc <= 0) {
				return rc;
			}
			rc = 0;
		}
	}
	if (rc > 0) {
		*ret_header = header;
		*ret_offset = walk->at;
		walk->at += header.span;
		walk->last_number = header.number;
		walk->started = true;
		memcpy(walk->process, header.process, sizeof(walk->process));
	}
	return rc;
}

bool hk_chunk_file_is_evicted(int fd, uint64_t offset)
{
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	struct hk_chunk_header header;
	return pread(fd, bytes, sizeof(bytes), (off_t)offset) != (ssize_t)sizeof(bytes) ||
	       hk_chunk_header_read(bytes, sizeof(bytes), &header) < 0 ||
	       hk_chunk_is_evicted(&header);
}

/* Takes in one chunk that has a sound header. Returns 1 if it is sound, 0 if damaged, or -errno. */
static int scan_chunk(struct hk_chunk_scan *scan, struct hk_chunk_reader *reader,
		      const struct hk_chunk_header *header, const struct hk_chunk_buffer *buffer)
{
	const struct hk_chunk_position *positions;
	size_t count;

	if (hk_chunk_reader_open(reader, buffer->bytes, header->total_bytes) < 0) {
		return 0;
	}
	int rc = hk_chunk_reader_positions(reader, &positions, &count);
	if (rc < 0) {
		return rc == -EBADMSG ? 0 : rc;
	}
	struct hk_positions all = {scan->positions, scan->position_count};
	rc = hk_positions_take(&all, positions, count);
	scan->positions = all.list;
	scan->position_count = all.count;
	if (rc < 0) {
		return rc;
	}
	scan->chunks++;
	scan->records += (uint64_t)header->records + header->long_records;
	scan->stored_bytes += header->total_bytes;
	if (hk_chunk_is_evicted(header)) {
		uint64_t shed = hk_chunk_evicted_records(header);
		scan->shed_records += shed;
		scan->elsewhere_records += header->shed_records - shed;
	}
	scan->lost_records = header->lost_records;
	scan->last_number = header->number;
	if (header->max_end_ticks > scan->max_end_ticks) {
		scan->max_end_ticks = header->max_end_ticks;
	}
	memcpy(scan->process, header->process, sizeof(scan->process));
	return 1;
}

/* Whether a chunk or the end of the file follows at `at`, so that a damaged chunk's length can be
 * trusted. */
static bool chunk_follows(int fd, uint64_t at, uint64_t size)
{
	const uint64_t places[] = {at, hk_chunk_file_location(at)};
	uint64_t magic;

	for (unsigned i = 0; i < 2; i++) {
		if (read_some(fd, places[i], &magic, sizeof(magic)) == sizeof(magic) &&
		    magic == HK_CHUNK_MAGIC) {
			return true;
		}
	}
	return at == size;
}

static int scan_chunks(int fd, struct hk_chunk_scan *scan, struct hk_chunk_reader *reader,
		       struct hk_chunk_buffer *buffer)
{
	struct hk_chunk_walk walk = HK_CHUNK_WALK(fd);
	struct hk_chunk_header header;
	uint64_t offset;
	int rc;

	while ((rc = hk_chunk_walk_next(&walk, &header, &offset)) > 0) {
		rc = hk_chunk_file_read(fd, offset, header.total_bytes, buffer);
		if (rc == 0) {
			rc = scan_chunk(scan, reader, &header, buffer);
		} else if (rc == -EBADMSG) {
			rc = 0;
		}
		if (rc < 0) {
			return rc;
		}
		if (rc > 0) {
			if (offset != scan->valid_bytes &&
			    offset != hk_chunk_file_location(scan->valid_bytes)) {
				scan->skipped++;
				scan->skipped_bytes += offset - scan->valid_bytes;
			}
			scan->valid_bytes = walk.at;
		} else if (!chunk_follows(fd, walk.at, scan->file_bytes)) {
			walk.at = offset + 1;
		}
	}
	return rc;
}

int hk_chunk_file_scan(int fd, struct hk_chunk_scan *ret_scan)
{
	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	struct hk_chunk_buffer buffer = {0};
	struct hk_chunk_scan scan = {0};
	int rc = reader ? file_size(fd, &scan.file_bytes) : -ENOMEM;

	if (rc == 0) {
		rc = scan_chunks(fd, &scan, reader, &buffer);
	}
	hk_chunk_reader_free(reader);
	free(buffer.bytes);
	if (rc < 0) {
		hk_chunk_scan_fini(&scan);
		return rc;
	}
	*ret_scan = scan;
	return 0;
}

void hk_chunk_scan_fini(struct hk_chunk_scan *scan)
{
	free(scan->positions);
	*scan = (struct hk_chunk_scan){0};
}
