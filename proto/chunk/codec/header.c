#include "chunk/codec/header.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <xxhash.h>

#define VERSION_OFFSET offsetof(struct hk_chunk_header, major)
#define BODY_OFFSET offsetof(struct hk_chunk_header, header_checksum)
#define FIELDS_OFFSET offsetof(struct hk_chunk_header, total_bytes)

/* The version fields lie before the checksums; as their seed they are covered too. */
static uint64_t seed_of(const uint8_t *bytes)
{
	uint64_t seed;

	memcpy(&seed, bytes + VERSION_OFFSET, sizeof(seed));
	return seed;
}

static uint64_t header_sum(const uint8_t *bytes)
{
	return XXH3_64bits_withSeed(bytes + FIELDS_OFFSET, HK_CHUNK_HEADER_BYTES - FIELDS_OFFSET,
				    seed_of(bytes));
}

static uint64_t body_sum(const uint8_t *bytes, size_t size)
{
	return XXH3_64bits_withSeed(bytes + BODY_OFFSET, size - BODY_OFFSET, seed_of(bytes));
}

static bool section_fits(const struct hk_chunk_section *section)
{
	if (section->raw_bytes > HK_CHUNK_SECTION_BYTES_MAX ||
	    section->stored_bytes > section->raw_bytes) {
		return false;
	}
	switch (section->codec) {
	case HK_CODEC_NONE:
		return section->stored_bytes == section->raw_bytes;
	case HK_CODEC_ZSTD:
		return true;
	default:
		return false;
	}
}

/* A tombstone has no sections but the positions, and its place may be far longer than itself. */
static bool tombstone_fits(const struct hk_chunk_header *header)
{
	for (unsigned i = 0; i < HK_CHUNK_SECTION_SLOTS; i++) {
		if (header->sections[i].type != HK_SECTION_NONE &&
		    header->sections[i].type != HK_SECTION_POSITIONS) {
			return false;
		}
	}
	return header->records == 0 && header->long_records == 0 && header->first_number >= 1 &&
	       header->first_number <= header->number && header->span >= header->total_bytes &&
	       header->span <= HK_CHUNK_SPAN_MAX;
}

static bool header_fits(const struct hk_chunk_header *header)
{
	uint64_t total = HK_CHUNK_HEADER_BYTES;

	for (unsigned i = 0; i < HK_CHUNK_SECTION_SLOTS; i++) {
		if (!section_fits(&header->sections[i])) {
			return false;
		}
		total += header->sections[i].stored_bytes;
	}
	if (total != header->total_bytes || total > HK_CHUNK_BYTES_MAX ||
	    (uint64_t)header->records + header->long_records > HK_CHUNK_RECORDS_MAX) {
		return false;
	}
	return hk_chunk_is_evicted(header) ? tombstone_fits(header)
					   : header->span == header->total_bytes;
}

/* Sets the fields that the first major did not have. */
static void complete(struct hk_chunk_header *header)
{
	if (header->major == HK_CHUNK_MAJOR_FIRST) {
		header->flags = 0;
		header->span = header->total_bytes;
	}
}

int hk_chunk_header_read(const void *bytes, size_t size, struct hk_chunk_header *ret_header)
{
	struct hk_chunk_header header;

	if (size < sizeof(header)) {
		return -ENODATA;
	}
	memcpy(&header, bytes, sizeof(header));
	if (header.magic != HK_CHUNK_MAGIC) {
		return -EBADMSG;
	}
	if (header.header_bytes != HK_CHUNK_HEADER_BYTES ||
	    header.header_checksum != header_sum(bytes)) {
		return -EBADMSG;
	}
	if (header.major < HK_CHUNK_MAJOR_FIRST || header.major > HK_CHUNK_MAJOR) {
		return -EPROTO;
	}
	complete(&header);
	if (!header_fits(&header)) {
		return -EBADMSG;
	}
	*ret_header = header;
	return 0;
}

int hk_chunk_header_verify(const void *bytes, size_t size, struct hk_chunk_header *ret_header)
{
	struct hk_chunk_header header;
	int rc = hk_chunk_header_read(bytes, size, &header);

	if (rc < 0) {
		return rc;
	}
	if (header.total_bytes != size || header.checksum != body_sum(bytes, size)) {
		return -EBADMSG;
	}
	*ret_header = header;
	return 0;
}

void hk_chunk_header_seal(void *bytes, size_t size)
{
	uint8_t *at = bytes;
	uint64_t sum = header_sum(at);

	memcpy(at + BODY_OFFSET, &sum, sizeof(sum));
	sum = body_sum(at, size);
	memcpy(at + offsetof(struct hk_chunk_header, checksum), &sum, sizeof(sum));
}

void hk_chunk_header_tombstone(const struct hk_chunk_header *header, uint32_t flags,
			       uint8_t ret_bytes[HK_CHUNK_HEADER_BYTES])
{
	struct hk_chunk_header tombstone = *header;

	tombstone.major = HK_CHUNK_MAJOR;
	tombstone.minor = HK_CHUNK_MINOR;
	tombstone.total_bytes = tombstone.span = HK_CHUNK_HEADER_BYTES;
	if (!hk_chunk_is_evicted(header)) {
		tombstone.first_number = header->number;
		tombstone.shed_records = (uint64_t)header->records + header->long_records;
		tombstone.flags = flags | HK_CHUNK_SHED;
	}
	tombstone.records = tombstone.long_records = 0;
	memset(tombstone.sections, 0, sizeof(tombstone.sections));
	memcpy(ret_bytes, &tombstone, sizeof(tombstone));
	hk_chunk_header_seal(ret_bytes, HK_CHUNK_HEADER_BYTES);
}
