#include "agent/record/image.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

#include "ring/kernel.h"

#define LOOKS_MAX 64u /* segments of killed processes accumulate */
#define NAME_BYTES (32u + sizeof(HK_SEGMENT_SUFFIX) - 1u)

/* An entry of getdents64. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static bool is_segment(const char *name)
{
	size_t length = 0;
	while (name[length]) {
		length++;
	}
	return length == NAME_BYTES && name[32] == HK_SEGMENT_SUFFIX[0];
}

static bool same_uid(const uint8_t *a, const uint8_t *b)
{
	size_t i = 0;
	while (i < 16 && a[i] == b[i]) {
		i++;
	}
	return i == 16;
}

static bool is_earlier(const struct hk_segment_header *own, const struct hk_segment_header *other)
{
	return other->magic == HK_SEGMENT_MAGIC && other->major == own->major &&
	       other->pid == own->pid && other->pid_start == own->pid_start &&
	       other->pid_namespace == own->pid_namespace && !same_uid(other->uid, own->uid) &&
	       atomic_load_explicit(&other->attached, memory_order_relaxed) == 0;
}

static void check_image(int dirfd, const char *name, const struct hk_segment_header *own)
{
	struct hk_segment_header other;
	int fd = (int)hk_kernel(SYS_openat, dirfd, name,
				O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0, 0, 0);
	if (fd < 0) {
		return;
	}
	long got = hk_kernel(SYS_pread64, fd, &other, sizeof(other), 0, 0, 0);
	hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	if (got == (long)sizeof(other) && is_earlier(own, &other)) {
		hk_kernel(SYS_unlinkat, dirfd, name, 0, 0, 0, 0);
	}
}

void hk_image_remove_earlier(int dirfd, const struct hk_segment_header *own)
{
	_Alignas(struct entry) char list[4096];
	uint32_t looks = 0;
	for (;;) {
		long bytes = hk_kernel(SYS_getdents64, dirfd, list, sizeof(list), 0, 0, 0);
		if (bytes <= 0) {
			return;
		}
		for (long at = 0; at < bytes;) {
			const struct entry *entry = (const void *)(list + at);
			at += entry->bytes;
			if (is_segment(entry->name)) {
				if (++looks > LOOKS_MAX) {
					return;
				}
				check_image(dirfd, entry->name, own);
			}
		}
	}
}
