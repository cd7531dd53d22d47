#include "cli/compare/array/zip.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define END_SIGNATURE 0x06054b50u
#define END_BYTES 22u
#define END64_LOCATOR_SIGNATURE 0x07064b50u
#define END64_LOCATOR_BYTES 20u
#define END64_SIGNATURE 0x06064b50u
#define END64_BYTES 56u
#define ENTRY_SIGNATURE 0x02014b50u
#define ENTRY_BYTES 46u
#define LOCAL_SIGNATURE 0x04034b50u
#define LOCAL_BYTES 30u
#define COMMENT_BYTES_MAX 65535u
#define EXTRA_ZIP64 1u

/* An entry of the directory. */
struct entry {
	uint16_t method;
	uint64_t stored_bytes, bytes, local;
	const uint8_t *name, *extra;
	size_t name_bytes, extra_bytes;
};

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++) {
		value |= (uint64_t)at[i] << (8 * i);
	}
	return value;
}

static bool is_within(const struct hk_zip *zip, uint64_t offset, uint64_t bytes)
{
	return offset <= zip->size && bytes <= zip->size - offset;
}

/* The ZIP64 end of the directory, if END has a locator before it. */
static int end64_read(struct hk_zip *zip, size_t end)
{
	if (end < END64_LOCATOR_BYTES) {
		return 0;
	}
	const uint8_t *locator = zip->bytes + end - END64_LOCATOR_BYTES;
	if (number(locator, 4) != END64_LOCATOR_SIGNATURE) {
		return 0;
	}
	uint64_t at = number(locator + 8, 8);
	if (!is_within(zip, at, END64_BYTES) || number(zip->bytes + at, 4) != END64_SIGNATURE) {
		return -EINVAL;
	}
	zip->entries = number(zip->bytes + at + 32, 8);
	zip->directory_bytes = number(zip->bytes + at + 40, 8);
	zip->directory = number(zip->bytes + at + 48, 8);
	return 0;
}

int hk_zip_open(struct hk_zip *zip, const void *bytes, size_t size)
{
	*zip = (struct hk_zip){.bytes = bytes, .size = size};
	if (size < END_BYTES) {
		return -EINVAL;
	}
	size_t end = size - END_BYTES, last = end > COMMENT_BYTES_MAX ? end - COMMENT_BYTES_MAX : 0;
	while (number(zip->bytes + end, 4) != END_SIGNATURE) {
		if (end == last) {
			return -EINVAL;
		}
		end--;
	}
	zip->entries = number(zip->bytes + end + 10, 2);
	zip->directory_bytes = number(zip->bytes + end + 12, 4);
	zip->directory = number(zip->bytes + end + 16, 4);
	int r = end64_read(zip, end);
	return r < 0 || !is_within(zip, zip->directory, zip->directory_bytes) ? -EINVAL : 0;
}

/* Replaces the sizes that did not fit 32 bits by those of the ZIP64 field. */
static bool extra_read(struct entry *entry)
{
	uint64_t *const wide[] = {&entry->bytes, &entry->stored_bytes, &entry->local};
	size_t at = 0;

	while (entry->extra_bytes - at >= 4) {
		const uint8_t *field = entry->extra + at;
		size_t left = number(field + 2, 2), id = number(field, 2);
		at += 4;
		if (left > entry->extra_bytes - at) {
			return false;
		}
		at += left;
		field += 4;
		for (size_t i = 0; id == EXTRA_ZIP64 && i < 3 && left >= 8; i++) {
			if (*wide[i] == UINT32_MAX) {
				*wide[i] = number(field, 8);
				field += 8;
				left -= 8;
			}
		}
	}
	return true;
}

/* Reads the entry at *AT of the directory and moves *AT behind it. */
static bool entry_next(const struct hk_zip *zip, uint64_t *at, struct entry *entry)
{
	uint64_t end = zip->directory + zip->directory_bytes;

	if (end - *at < ENTRY_BYTES || number(zip->bytes + *at, 4) != ENTRY_SIGNATURE) {
		return false;
	}
	const uint8_t *bytes = zip->bytes + *at;
	*entry = (struct entry){.method = (uint16_t)number(bytes + 10, 2),
				.stored_bytes = number(bytes + 20, 4),
				.bytes = number(bytes + 24, 4),
				.local = number(bytes + 42, 4),
				.name = bytes + ENTRY_BYTES,
				.name_bytes = (size_t)number(bytes + 28, 2),
				.extra_bytes = (size_t)number(bytes + 30, 2)};
	uint64_t tail = entry->name_bytes + entry->extra_bytes + number(bytes + 32, 2);
	if (tail > end - *at - ENTRY_BYTES) {
		return false;
	}
	entry->extra = entry->name + entry->name_bytes;
	*at += ENTRY_BYTES + tail;
	return extra_read(entry);
}

static bool is_named(const struct entry *entry, const char *name, size_t length)
{
	const uint8_t *slash = memchr(entry->name, '/', entry->name_bytes);

	return slash && entry->name_bytes - (size_t)(slash + 1 - entry->name) == length &&
	       !memcmp(slash + 1, name, length);
}

/* The bytes of ENTRY, behind its second header. */
static int entry_bytes(const struct hk_zip *zip, const struct entry *entry,
		       const uint8_t **ret_bytes, size_t *ret_size)
{
	if (!is_within(zip, entry->local, LOCAL_BYTES) ||
	    number(zip->bytes + entry->local, 4) != LOCAL_SIGNATURE) {
		return -EINVAL;
	}
	if (entry->method != 0 || entry->stored_bytes != entry->bytes) {
		return -ENOTSUP;
	}
	const uint8_t *local = zip->bytes + entry->local;
	uint64_t start = entry->local + LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
	if (!is_within(zip, start, entry->bytes)) {
		return -EINVAL;
	}
	*ret_bytes = zip->bytes + start;
	*ret_size = (size_t)entry->bytes;
	return 0;
}

int hk_zip_find(const struct hk_zip *zip, const char *name, size_t length,
		const uint8_t **ret_bytes, size_t *ret_size)
{
	uint64_t at = zip->directory;
	struct entry entry;

	for (uint64_t i = 0; i < zip->entries; i++) {
		if (!entry_next(zip, &at, &entry)) {
			return -EINVAL;
		}
		if (is_named(&entry, name, length)) {
			return entry_bytes(zip, &entry, ret_bytes, ret_size);
		}
	}
	return -ENOENT;
}
