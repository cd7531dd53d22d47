#include "dump/write/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define NAMES_MAX 10000 /* of one process: an earlier one had its number */

static int open_new(int directory, uint32_t rank)
{
	char name[64];
	int fd = -1;

	snprintf(name, sizeof(name), "rank%u-%d.hkv", rank, getpid());
	for (unsigned i = 1; i < NAMES_MAX; i++) {
		fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0666);
		if (fd >= 0 || errno != EEXIST) {
			break;
		}
		snprintf(name, sizeof(name), "rank%u-%d.%u.hkv", rank, getpid(), i);
	}
	return fd >= 0 ? fd : -errno;
}

int hk_output_open(struct hk_output *output, const char *directory, uint32_t rank, uint64_t limit,
		   const char **ret_made)
{
	int fd;

	*output = (struct hk_output){.fd = -1, .limit = limit ? limit : UINT64_MAX};
	*ret_made = "the directory";
	if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
		return -errno;
	}
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	*ret_made = "a file in the directory";
	output->fd = open_new(fd, rank);
	close(fd);
	return output->fd < 0 ? output->fd : 0;
}

/* Bytes of the limit that are kept for what matters more than TYPE. */
static uint64_t kept_room(const struct hk_output *output, unsigned type)
{
	switch (type) {
	case HK_DUMP_BLOCK_END:
		return 0;
	case HK_DUMP_BLOCK_STEP:
		return 1024;
	case HK_DUMP_BLOCK_PAYLOAD:
		return output->limit / 8 + 4096;
	default:
		return 4096;
	}
}

/* Writes all COUNT parts at the file's end. Returns 0 or -errno. */
static int write_parts(const struct hk_output *output, struct iovec *parts, int count)
{
	uint64_t at = output->at;

	while (count > 0) {
		ssize_t got = pwritev(output->fd, parts, count, (off_t)at);
		if (got < 0 && errno != EINTR) {
			return -errno;
		}
		at += got > 0 ? (uint64_t)got : 0;
		for (size_t left = got > 0 ? (size_t)got : 0; count > 0; parts++, count--) {
			if (left < parts->iov_len) {
				parts->iov_base = (char *)parts->iov_base + left;
				parts->iov_len -= left;
				break;
			}
			left -= parts->iov_len;
		}
	}
	return 0;
}

int hk_output_append(struct hk_output *output, struct hk_dump_block *block, const void *body)
{
	static const char zeros[8];
	const size_t padding = -block->stored_bytes & 7;
	const uint64_t bytes = sizeof(*block) + block->stored_bytes + padding;
	struct iovec parts[] = {{block, sizeof(*block)},
				{(void *)(uintptr_t)body, block->stored_bytes},
				{(void *)(uintptr_t)zeros, padding}};
	int rc;

	if (output->at + bytes > output->limit ||
	    output->limit - output->at - bytes < kept_room(output, block->type)) {
		return HK_OUTPUT_FULL;
	}
	block->magic = HK_DUMP_MAGIC;
	block->major = HK_DUMP_MAJOR;
	block->minor = HK_DUMP_MINOR;
	block->body_checksum = XXH3_64bits(body, block->stored_bytes);
	block->header_checksum =
	    XXH3_64bits(block, offsetof(struct hk_dump_block, header_checksum));
	rc = write_parts(output, parts, 3);
	output->at += rc == 0 ? bytes : 0;
	/* Blocks are written over what is left of one that failed, until it is cut off. */
	output->torn = (rc != 0 || output->torn) && ftruncate(output->fd, (off_t)output->at) != 0;
	return rc;
}

int hk_output_check(const struct hk_output *output)
{
	struct stat status;

	return fstat(output->fd, &status) == 0 && status.st_nlink == 0 ? -ENOENT : 0;
}
