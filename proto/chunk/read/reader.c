#include "chunk/read/reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "chunk/codec/definitions.h"
#include "chunk/codec/header.h"
#include "chunk/codec/intern.h"
#include "chunk/codec/lanes.h"
#include "chunk/codec/signatures.h"

/* Decoded bytes of one section. */
struct section {
	uint8_t *bytes;
	size_t size, capacity;
	bool loaded;
};

struct hk_chunk_reader {
	struct hk_chunk_header header;
	const uint8_t *bytes;
	ZSTD_DCtx *zstd;
	struct section sections[HK_CHUNK_SECTION_TYPES];
	struct hk_lanes_decoded lanes, long_lanes;
	struct hk_chunk_site *sites;
	size_t site_capacity;
};

struct hk_chunk_reader *hk_chunk_reader_new(void)
{
	struct hk_chunk_reader *reader = calloc(1, sizeof(*reader));

	if (!reader) {
		return NULL;
	}
	reader->zstd = ZSTD_createDCtx();
	return reader->zstd ? reader : hk_chunk_reader_free(reader);
}

struct hk_chunk_reader *hk_chunk_reader_free(struct hk_chunk_reader *reader)
{
	if (reader) {
		for (unsigned i = 0; i < HK_CHUNK_SECTION_TYPES; i++) {
			free(reader->sections[i].bytes);
		}
		hk_lanes_decoded_fini(&reader->lanes);
		hk_lanes_decoded_fini(&reader->long_lanes);
		ZSTD_freeDCtx(reader->zstd);
		free(reader->sites);
		free(reader);
	}
	return NULL;
}

int hk_chunk_reader_open(struct hk_chunk_reader *reader, const void *bytes, size_t size)
{
	reader->header = (struct hk_chunk_header){0};
	reader->bytes = bytes;
	for (unsigned i = 0; i < HK_CHUNK_SECTION_TYPES; i++) {
		reader->sections[i].loaded = false;
	}
	return hk_chunk_header_verify(bytes, size, &reader->header);
}

const struct hk_chunk_header *hk_chunk_reader_header(const struct hk_chunk_reader *reader)
{
	return &reader->header;
}

static int reserve(struct section *section, size_t size)
{
	if (size > section->capacity || !section->bytes) {
		free(section->bytes);
		section->capacity = 0;
		section->bytes = malloc(size ? size : 1);
		if (!section->bytes) {
			return -ENOMEM;
		}
		section->capacity = size;
	}
	return 0;
}

static int unpack(struct hk_chunk_reader *reader, struct section *section,
		  const struct hk_chunk_section *entry, const uint8_t *stored)
{
	if (reserve(section, entry->raw_bytes) < 0) {
		return -ENOMEM;
	}
	if (entry->codec == HK_CODEC_NONE) {
		memcpy(section->bytes, stored, entry->raw_bytes);
	} else {
		size_t size = ZSTD_decompressDCtx(reader->zstd, section->bytes, entry->raw_bytes,
						  stored, entry->stored_bytes);
		if (ZSTD_isError(size) || size != entry->raw_bytes) {
			return -EBADMSG;
		}
	}
	section->size = entry->raw_bytes;
	section->loaded = true;
	return 0;
}

/* Decoded bytes of the first section of a type, empty if there is none. */
static int load(struct hk_chunk_reader *reader, uint32_t type, struct section **ret_section)
{
	struct section *section = &reader->sections[type];
	size_t offset = HK_CHUNK_HEADER_BYTES;
	int rc = 0;

	if (!section->loaded) {
		section->size = 0;
		for (unsigned i = 0; i < HK_CHUNK_SECTION_SLOTS; i++) {
			const struct hk_chunk_section *entry = &reader->header.sections[i];
			if (entry->type == type) {
				rc = unpack(reader, section, entry, reader->bytes + offset);
				break;
			}
			offset += entry->stored_bytes;
		}
	}
	if (rc == 0) {
		*ret_section = section;
	}
	return rc;
}

int hk_chunk_reader_positions(struct hk_chunk_reader *reader,
			      const struct hk_chunk_position **ret_positions, size_t *ret_count)
{
	struct section *section;
	int rc = load(reader, HK_SECTION_POSITIONS, &section);

	if (rc < 0) {
		return rc;
	}
	if (section->size % sizeof(struct hk_chunk_position)) {
		return -EBADMSG;
	}
	const struct hk_chunk_position *positions = (const void *)section->bytes;
	size_t count = section->size / sizeof(*positions);
	for (size_t i = 0; i < count; i++) {
		if (positions[i].thread >= HK_CHUNK_THREADS_MAX) {
			return -EBADMSG;
		}
	}
	*ret_positions = positions;
	*ret_count = count;
	return 0;
}

int hk_chunk_reader_threads(struct hk_chunk_reader *reader,
			    const struct hk_chunk_thread **ret_threads, size_t *ret_count)
{
	struct section *section;
	int rc = load(reader, HK_SECTION_THREADS, &section);

	if (rc < 0) {
		return rc;
	}
	if (section->size % sizeof(struct hk_chunk_thread)) {
		return -EBADMSG;
	}
	const struct hk_chunk_thread *threads = (const void *)section->bytes;
	size_t count = section->size / sizeof(*threads);
	for (size_t i = 0; i < count; i++) {
		if (threads[i].uid >= HK_CHUNK_THREADS_MAX ||
		    threads[i].name[HK_CHUNK_NAME_BYTES - 1]) {
			return -EBADMSG;
		}
	}
	*ret_threads = threads;
	*ret_count = count;
	return 0;
}

static int keep_site(struct hk_chunk_reader *reader, size_t count, const struct hk_chunk_site *site)
{
	if (count == reader->site_capacity) {
		size_t wanted = count ? count * 2 : 64;
		struct hk_chunk_site *grown = realloc(reader->sites, wanted * sizeof(*grown));
		if (!grown) {
			return -ENOMEM;
		}
		reader->sites = grown;
		reader->site_capacity = wanted;
	}
	reader->sites[count] = *site;
	return 0;
}

/* Adds to each site the signature that the chunk has for it. */
static int read_signatures(struct hk_chunk_reader *reader, size_t site_count)
{
	struct section *section;
	struct hk_intern places = {0};
	uint32_t place;
	int rc = load(reader, HK_SECTION_SIGNATURES, &section);

	if (rc < 0 || !section->size) {
		return rc;
	}
	rc = hk_intern_init(&places);
	for (size_t i = 0; rc == 0 && i < site_count; i++) {
		rc = hk_intern_add(&places, reader->sites[i].id, &place);
		/* Our writer defines no site twice. */
		rc = rc == 0 && place != i ? -EBADMSG : rc;
	}
	const uint8_t *at = section->bytes, *end = at + section->size;
	while (rc == 0 && at != end) {
		const char *text;
		uint32_t id;
		rc = hk_signatures_read(&at, end, &id, &text);
		place = rc == 0 ? hk_intern_find(&places, id) : HK_INTERN_NONE;
		if (place != HK_INTERN_NONE) {
			reader->sites[place].signature = text;
		}
	}
	hk_intern_fini(&places);
	return rc;
}

int hk_chunk_reader_sites(struct hk_chunk_reader *reader, const struct hk_chunk_site **ret_sites,
			  size_t *ret_count)
{
	struct section *section;
	size_t count = 0;
	int rc = load(reader, HK_SECTION_SITES, &section);

	if (rc < 0) {
		return rc;
	}
	const uint8_t *at = section->bytes;
	const uint8_t *end = section->size ? at + section->size : at;
	for (; at != end; count++) {
		struct hk_chunk_site site;
		rc = hk_definitions_read(&at, end, &site);
		if (rc == 0) {
			rc = keep_site(reader, count, &site);
		}
		if (rc < 0) {
			return rc;
		}
	}
	rc = read_signatures(reader, count);
	*ret_sites = reader->sites;
	*ret_count = count;
	return rc;
}

int hk_chunk_reader_records(struct hk_chunk_reader *reader, uint32_t type,
			    const struct hk_record **ret_records, size_t *ret_count)
{
	bool is_long = type == HK_SECTION_LONG_LANES;
	struct hk_lanes_decoded *decoded = is_long ? &reader->long_lanes : &reader->lanes;
	uint32_t promised = is_long ? reader->header.long_records : reader->header.records;
	const struct hk_chunk_thread *threads;
	struct section *section;
	size_t thread_count;
	int rc;

	if ((rc = hk_chunk_reader_threads(reader, &threads, &thread_count)) < 0 ||
	    (rc = load(reader, type, &section)) < 0) {
		return rc;
	}
	decoded->count = 0;
	if (section->size) {
		rc = hk_lanes_decode(section->bytes, section->size, threads, thread_count, decoded);
	}
	if (rc == 0 && decoded->count != promised) {
		rc = -EBADMSG;
	}
	if (rc < 0) {
		return rc;
	}
	*ret_records = decoded->records;
	*ret_count = decoded->count;
	return 0;
}
