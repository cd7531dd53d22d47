#include "chunk/codec/definitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* 64 Ki sites without strings are 1.8 MB: the room of the section above this limit is enough for
 * them. */
#define STRINGS_UNTIL (HK_CHUNK_SECTION_BYTES_MAX - (4u << 20))
#define STRINGS 3

int hk_definitions_init(struct hk_definitions *definitions)
{
	*definitions = (struct hk_definitions){0};
	return hk_intern_init(&definitions->index);
}

static int reserve(struct hk_definitions *definitions, size_t bytes)
{
	size_t needed = definitions->used + bytes;
	size_t wanted = definitions->capacity ? definitions->capacity : 4096;

	if (needed <= definitions->capacity) {
		return 0;
	}
	while (wanted < needed) {
		wanted *= 2;
	}
	uint8_t *grown = realloc(definitions->bytes, wanted);
	if (!grown) {
		return -ENOMEM;
	}
	definitions->bytes = grown;
	definitions->capacity = wanted;
	return 0;
}

static uint16_t string_bytes(const char *string)
{
	return string ? (uint16_t)strnlen(string, HK_CHUNK_STRING_MAX) : 0;
}

static void put(struct hk_definitions *definitions, const void *bytes, size_t size)
{
	if (size) {
		memcpy(definitions->bytes + definitions->used, bytes, size);
		definitions->used += size;
	}
}

static int add_site(struct hk_definitions *definitions, const struct hk_chunk_site *site)
{
	bool full = definitions->used > STRINGS_UNTIL;
	const char *strings[STRINGS] = {site->function, site->library, site->domain};
	struct hk_chunk_site_entry entry = {
	    .id = site->id,
	    .flags = site->flags,
	    .meaning = site->meaning,
	    .key_count = site->key_count < HK_CHUNK_KEYS ? site->key_count : HK_CHUNK_KEYS,
	    .function_bytes = full ? 0 : string_bytes(site->function),
	    .library_bytes = full ? 0 : string_bytes(site->library),
	    .domain_bytes = full ? 0 : string_bytes(site->domain),
	};
	const uint16_t bytes[STRINGS] = {entry.function_bytes, entry.library_bytes,
					 entry.domain_bytes};

	memcpy(entry.keys, site->keys, sizeof(entry.keys));
	if (reserve(definitions, sizeof(entry) + STRINGS * (HK_CHUNK_STRING_MAX + 1)) < 0) {
		return -ENOMEM;
	}
	put(definitions, &entry, sizeof(entry));
	for (unsigned i = 0; i < STRINGS; i++) {
		put(definitions, strings[i], bytes[i]);
		put(definitions, "", 1);
	}
	return 0;
}

int hk_definitions_add(struct hk_definitions *definitions, const struct hk_lanes *lanes,
		       const struct hk_chunk_names *names)
{
	const uint8_t *shapes = lanes->columns[HK_COLUMN_SHAPES].bytes;

	for (uint32_t i = 0; i < lanes->head.shapes; i++) {
		uint32_t shape, known = definitions->index.count, number;
		memcpy(&shape, shapes + i * sizeof(shape), sizeof(shape));
		uint32_t id = shape & (HK_CHUNK_SITES_MAX - 1);
		if (hk_intern_add(&definitions->index, id, &number) < 0) {
			return -ENOMEM;
		}
		if (number != known) {
			continue;
		}
		struct hk_chunk_site site = {0};
		if (!names->site || names->site(names->context, id, &site) < 0) {
			site = (struct hk_chunk_site){0};
		}
		site.id = id;
		if (add_site(definitions, &site) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

void hk_definitions_clear(struct hk_definitions *definitions)
{
	hk_intern_clear(&definitions->index);
	definitions->used = 0;
}

void hk_definitions_fini(struct hk_definitions *definitions)
{
	hk_intern_fini(&definitions->index);
	free(definitions->bytes);
	*definitions = (struct hk_definitions){0};
}

static int read_string(const uint8_t **at, const uint8_t *end, uint16_t bytes, const char **ret)
{
	if (bytes > HK_CHUNK_STRING_MAX || end - *at <= bytes || (*at)[bytes]) {
		return -EBADMSG;
	}
	*ret = (const char *)*at;
	*at += bytes + 1;
	return 0;
}

int hk_definitions_read(const uint8_t **at, const uint8_t *end, struct hk_chunk_site *ret_site)
{
	struct hk_chunk_site_entry entry;

	if (end - *at < (ptrdiff_t)sizeof(entry)) {
		return -EBADMSG;
	}
	memcpy(&entry, *at, sizeof(entry));
	*at += sizeof(entry);
	struct hk_chunk_site site = {
	    .id = entry.id,
	    .flags = entry.flags,
	    .meaning = entry.meaning,
	    .key_count = entry.key_count,
	};
	memcpy(site.keys, entry.keys, sizeof(site.keys));
	if (entry.id >= HK_CHUNK_SITES_MAX || entry.key_count > HK_CHUNK_KEYS ||
	    read_string(at, end, entry.function_bytes, &site.function) < 0 ||
	    read_string(at, end, entry.library_bytes, &site.library) < 0 ||
	    read_string(at, end, entry.domain_bytes, &site.domain) < 0) {
		return -EBADMSG;
	}
	*ret_site = site;
	return 0;
}
