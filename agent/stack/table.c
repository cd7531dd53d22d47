#include "agent/stack/table.h"

#include <stdbool.h>
#include <stddef.h>

#include "agent/stack/bytes.h"

#define INDEX_VERSION 1
/* Encodings of .eh_frame_hdr that linkers write. */
#define COUNT_ENCODING 0x03 /* udata4 */
#define INDEX_ENCODING 0x3b /* datarel, sdata4: address and entry, relative to the header */

/* Entry of the index, sorted by address. */
struct place {
	int32_t address, entry;
};

static bool holds(const struct hk_table *table, uintptr_t at, size_t bytes)
{
	return at >= table->start && at <= table->end && bytes <= table->end - at;
}

/* Takes the first four bytes of the index. Returns the encoding of what follows, the address of the
 * entries. */
static uint8_t open_index(const struct hk_table *table, struct hk_bytes *ret_bytes)
{
	struct hk_bytes *bytes = ret_bytes;

	*bytes = (struct hk_bytes){(const uint8_t *)table->index, (const uint8_t *)table->index_end,
				   table->index_end < table->index};
	uint8_t version = hk_bytes_u8(bytes), frame_encoding = hk_bytes_u8(bytes);
	uint8_t count_encoding = hk_bytes_u8(bytes), index_encoding = hk_bytes_u8(bytes);
	bytes->failed = bytes->failed || version != INDEX_VERSION ||
			count_encoding != COUNT_ENCODING || index_encoding != INDEX_ENCODING;
	return frame_encoding;
}

uintptr_t hk_table_entries(const struct hk_table *table)
{
	struct hk_bytes bytes;
	uint8_t encoding = open_index(table, &bytes);

	return hk_bytes_pointer(&bytes, encoding);
}

/* Returns the number of entries of the index, which begin at *ret_places; 0: it is not understood.
 */
static uint32_t places_of(const struct hk_table *table, const struct place **ret_places)
{
	struct hk_bytes bytes;
	uint8_t encoding = open_index(table, &bytes);

	hk_bytes_pointer(&bytes, encoding);
	uint32_t count = hk_bytes_u32(&bytes);
	*ret_places = (const struct place *)(const void *)bytes.at;
	return bytes.failed || count > (size_t)(bytes.end - bytes.at) / sizeof(struct place)
		   ? 0
		   : count;
}

/* Returns the address of the last entry that begins at ADDRESS or before, or 0. */
static uintptr_t find(const struct hk_table *table, uintptr_t address)
{
	const struct place *places = NULL;
	uint32_t low = 0, high = places_of(table, &places);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (table->index + (uintptr_t)(intptr_t)places[middle].address <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low ? table->index + (uintptr_t)(intptr_t)places[low - 1].entry : 0;
}

/* Takes the length and the first word of the CIE or FDE at AT. BODY ends where the entry does. */
static uint32_t open(const struct hk_table *table, uintptr_t at, struct hk_bytes *body)
{
	*body = (struct hk_bytes){(const uint8_t *)at, (const uint8_t *)table->end,
				  !holds(table, at, 8)};
	uint32_t length = hk_bytes_u32(body);
	/* 0xffffffff begins the 64-bit form, which no linker writes into this section. */
	if (body->failed || length < 4 || length > (uintptr_t)(body->end - body->at)) {
		body->failed = true;
		return 0;
	}
	body->end = body->at + length;
	return hk_bytes_u32(body);
}

/* Reads the augmentation of a CIE: what its letters say. */
static void read_augmentation(struct hk_bytes *body, const uint8_t *letters, struct hk_entry *entry)
{
	if (*letters == 'z') {
		uint64_t length = hk_bytes_unsigned(body);
		const uint8_t *end = body->at;
		if (length > (uint64_t)(body->end - body->at)) {
			body->failed = true;
			return;
		}
		end += length;
		for (letters++; *letters && !body->failed; letters++) {
			if (*letters == 'R') {
				entry->encoding = hk_bytes_u8(body);
			} else if (*letters == 'P') {
				uint8_t encoding = hk_bytes_u8(body);
				hk_bytes_pointer(body, encoding);
			} else if (*letters == 'L') {
				hk_bytes_u8(body);
			} else if (*letters == 'S') {
				entry->signal = true;
			} else if (*letters != 'B') {
				break; /* what follows is unknown, but its length is not */
			}
		}
		body->at = end;
	} else if (*letters) {
		body->failed = true;
	}
}

static bool read_common(const struct hk_table *table, uintptr_t at, struct hk_entry *entry)
{
	struct hk_bytes body;

	if (open(table, at, &body) != 0) { /* the first word of a CIE */
		return false;
	}
	uint8_t version = hk_bytes_u8(&body);
	const uint8_t *letters = body.at;
	while (hk_bytes_u8(&body) && !body.failed) {
	}
	entry->code_factor = hk_bytes_unsigned(&body);
	entry->data_factor = hk_bytes_signed(&body);
	entry->return_column =
	    version == 1 ? hk_bytes_u8(&body) : (uint32_t)hk_bytes_unsigned(&body);
	if (body.failed || (version != 1 && version != 3)) {
		return false;
	}
	read_augmentation(&body, letters, entry);
	entry->common = body;
	return !body.failed;
}

static bool read_entry(const struct hk_table *table, uintptr_t at, uintptr_t address,
		       struct hk_entry *entry)
{
	struct hk_bytes body;
	const uint8_t *word = (const uint8_t *)at + 4;
	uint32_t distance = open(table, at, &body);

	*entry = (struct hk_entry){0};
	if (body.failed || !distance || !read_common(table, (uintptr_t)word - distance, entry)) {
		return false;
	}
	entry->start = hk_bytes_pointer(&body, entry->encoding);
	/* The length has the format of the address, and is relative to nothing. */
	uintptr_t length = hk_bytes_pointer(&body, entry->encoding & HK_BYTES_FORMAT);
	if (body.failed || address < entry->start || address - entry->start >= length) {
		return false;
	}
	uint64_t skipped = hk_bytes_unsigned(&body);
	if (body.failed || skipped > (uint64_t)(body.end - body.at)) {
		return false;
	}
	body.at += skipped;
	entry->own = body;
	return true;
}

struct hk_base hk_table_base(const struct hk_table *table, uintptr_t address)
{
	struct hk_entry entry;
	uintptr_t at = find(table, address);

	if (!at || !read_entry(table, at, address, &entry)) {
		return (struct hk_base){.state = HK_BASE_OTHER};
	}
	return hk_rules_base(&entry, address);
}

struct hk_row hk_table_row(const struct hk_table *table, uintptr_t address)
{
	struct hk_entry entry;
	uintptr_t at = find(table, address);

	if (!at || !read_entry(table, at, address, &entry)) {
		return (struct hk_row){.kind = HK_ROW_UNKNOWN};
	}
	return hk_rules_row(&entry, address);
}
