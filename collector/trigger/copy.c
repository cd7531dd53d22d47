#include "collector/trigger/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "chunk/read/file.h"
#include "collector/job/jobdir.h"

static int open_file(const struct hk_copy *copy, int dirfd, int flags)
{
	char path[PATH_MAX];
	int r = hk_jobdir_chunks(".", copy->uid, path);
	int fd = r < 0 ? r : openat(dirfd, path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 && r == 0 ? -errno : fd;
}

static uint64_t records_of(const struct hk_chunk_header *header)
{
	return (uint64_t)header->records + header->long_records;
}

static void count(struct hk_copy *copy, const struct hk_chunk_header *header, uint64_t end_bytes)
{
	copy->end_bytes = end_bytes;
	copy->last_number = header->number;
	copy->lost_records = header->lost_records;
	if (hk_chunk_is_evicted(header)) {
		copy->refused += header->shed_records;
	} else {
		copy->records += records_of(header);
		copy->bytes += header->total_bytes;
	}
}

void hk_copy_take_up(struct hk_copy *copy, int dirfd)
{
	struct hk_chunk_header header;
	uint64_t offset;
	int fd = open_file(copy, dirfd, O_RDWR);
	if (fd < 0) {
		return; /* nothing is there */
	}
	struct hk_chunk_walk walk = HK_CHUNK_WALK(fd);
	while (hk_chunk_walk_next(&walk, &header, &offset) > 0) {
		count(copy, &header, offset + header.span);
	}
	if (ftruncate(fd, (off_t)copy->end_bytes) < 0) {
		/* The torn end stays; readers skip it. */
	}
	close(fd);
}

void hk_copy_skip(struct hk_copy *copy, const struct hk_chunk_header *header, uint64_t refused)
{
	struct hk_chunk_header *skipped = &copy->skipped;
	uint64_t first = hk_chunk_first_number(header), sum = refused;
	uint64_t begin = header->min_start_ticks, end = header->max_end_ticks;
	if (header->number <= copy->last_number) {
		return; /* it is there */
	}
	first = first > copy->last_number ? first : copy->last_number + 1;
	if (skipped->number > 0) {
		first = skipped->first_number;
		sum += skipped->shed_records;
		begin = skipped->min_start_ticks < begin ? skipped->min_start_ticks : begin;
		end = skipped->max_end_ticks > end ? skipped->max_end_ticks : end;
	}
	*skipped = *header;
	skipped->flags = HK_CHUNK_SHED;
	skipped->first_number = first;
	skipped->shed_records = sum;
	skipped->min_start_ticks = begin;
	skipped->max_end_ticks = end;
}

/* Appends to the file FD. Returns 0 or -errno. */
static int append(struct hk_copy *copy, int fd, const struct hk_chunk_header *header,
		  const uint8_t *bytes, size_t size)
{
	uint64_t at = hk_chunk_file_location(copy->end_bytes);
	int r = hk_chunk_file_append(fd, at, bytes, size);
	if (r == 0) {
		count(copy, header, at + size);
	}
	return r;
}

static int append_skipped(struct hk_copy *copy, int fd)
{
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	const struct hk_chunk_header skipped = copy->skipped;
	if (skipped.number == 0) {
		return 0;
	}
	hk_chunk_header_tombstone(&skipped, 0, bytes);
	int r = append(copy, fd, &skipped, bytes, sizeof(bytes));
	if (r == 0) {
		copy->skipped = (struct hk_chunk_header){0};
	}
	return r;
}

/* Chunks before HEADER that are gone from the job are left out too. */
static void skip_until(struct hk_copy *copy, const struct hk_chunk_header *header)
{
	struct hk_chunk_header gone = *header;
	uint64_t last = copy->skipped.number > 0 ? copy->skipped.number : copy->last_number;
	gone.number = header->number - 1;
	gone.flags = HK_CHUNK_SHED;
	gone.first_number = last + 1;
	gone.min_start_ticks = UINT64_MAX;
	gone.max_end_ticks = 0;
	if (gone.number > last) {
		hk_copy_skip(copy, &gone, 0);
	}
}

int hk_copy_add(struct hk_copy *copy, int dirfd, const struct hk_chunk_header *header,
		const uint8_t *bytes)
{
	int fd = open_file(copy, dirfd, O_WRONLY | O_CREAT);
	if (fd < 0) {
		return fd;
	}
	skip_until(copy, header);
	int r = append_skipped(copy, fd);
	r = r < 0 ? r : append(copy, fd, header, bytes, header->total_bytes);
	return close(fd) < 0 && r == 0 ? -errno : r;
}

void hk_copy_end(struct hk_copy *copy, int dirfd)
{
	int fd = copy->skipped.shed_records > 0 ? open_file(copy, dirfd, O_WRONLY | O_CREAT) : -1;
	if (fd >= 0) {
		(void)append_skipped(copy, fd);
		close(fd);
	}
}
