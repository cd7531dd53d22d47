/* format.h: the bytes of a chunk. FORMAT.md is the normative text.
 *
 * A chunk is a header of HK_CHUNK_HEADER_BYTES and its sections, one after the other in the order
 * of the header's table. All integers are little-endian. Any change raises HK_CHUNK_MINOR (added
 * sections, flags, reserved fields put to use) or HK_CHUNK_MAJOR (anything else). Plain layouts, no
 * code.
 */
#ifndef HK_CHUNK_CODEC_FORMAT_H
#define HK_CHUNK_CODEC_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/record.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "chunks are written as they lie in memory");

#define HK_CHUNK_MAGIC 0x314b4e4843544b48ull /* "HKTCHNK1" */
#define HK_CHUNK_MAJOR 2u
#define HK_CHUNK_MINOR 3u
#define HK_CHUNK_MAJOR_FIRST 1u /* the oldest major that readers accept */
#define HK_CHUNK_HEADER_BYTES 256u

#define HK_CHUNK_RECORDS_MAX 65536u /* records of both lane sections together */
#define HK_CHUNK_WORDS_MAX 524288u  /* payload words of both together */
#define HK_CHUNK_POSITIONS_MAX 262144u
#define HK_CHUNK_STRING_MAX 4095u	       /* bytes of a site's name, without the NUL */
#define HK_CHUNK_SECTION_BYTES_MAX (16u << 20) /* bytes of a decoded section */
#define HK_CHUNK_BYTES_MAX (64u << 20)
#define HK_CHUNK_SPAN_MAX (1ull << 62)
#define HK_CHUNK_LONG_NS 20000000u /* longer calls are kept in the section LONG_LANES */

enum hk_chunk_section_type {
	HK_SECTION_NONE = 0,
	HK_SECTION_POSITIONS = 1,
	HK_SECTION_THREADS = 2,
	HK_SECTION_SITES = 3,
	HK_SECTION_LANES = 4,
	HK_SECTION_LONG_LANES = 5,
	HK_SECTION_SIGNATURES = 6,
};
#define HK_CHUNK_SECTION_TYPES 7u
#define HK_CHUNK_SECTION_SLOTS 8u

/* Bits of a header's flags. */
#define HK_CHUNK_SHED (1u << 0) /* a tombstone: its records were evicted */
/* With HK_CHUNK_SHED: the records are stored elsewhere, and not lost. */
#define HK_CHUNK_ELSEWHERE (1u << 1)
/* With HK_CHUNK_SHED: a root evicted the records after their node had delivered them. */
#define HK_CHUNK_CAME (1u << 2)

enum hk_chunk_codec {
	HK_CODEC_NONE = 0,
	HK_CODEC_ZSTD = 1, /* frames, one behind the other */
};

struct hk_chunk_section {
	uint32_t type;	/* enum hk_chunk_section_type; HK_SECTION_NONE: unused slot */
	uint32_t codec; /* enum hk_chunk_codec */
	uint32_t raw_bytes;
	uint32_t stored_bytes; /* never more than raw_bytes */
};
static_assert(sizeof(struct hk_chunk_section) == 16, "section");

struct hk_chunk_header {
	uint64_t magic;
	uint16_t major, minor;
	uint32_t header_bytes;
	uint64_t checksum;	  /* XXH3-64 of every byte behind this field */
	uint64_t header_checksum; /* XXH3-64 of the rest of the header; both are seeded with the 8
				     bytes at offset 8 */
	uint64_t total_bytes;
	uint8_t process[16];
	uint64_t number; /* 1.. within the process */
	uint32_t records;
	uint32_t long_records;
	uint64_t lost_records;	  /* of this process, from its start to the end of this chunk */
	uint64_t min_start_ticks; /* of all records; UINT64_MAX without records */
	uint64_t max_end_ticks;	  /* 0 without records; both also cover evicted records */
	union {
		uint64_t lanes_min_start_ticks; /* of the records in LANES */
		uint64_t first_number; /* tombstone: first chunk that it replaces, up to `number` */
	};
	union {
		uint64_t long_min_start_ticks; /* of the records in LONG_LANES */
		uint64_t shed_records;	       /* tombstone: records of those chunks */
	};
	uint32_t flags; /* HK_CHUNK_SHED, HK_CHUNK_ELSEWHERE, HK_CHUNK_CAME */
	uint32_t reserved;
	uint64_t span; /* bytes to the end of its place; total_bytes unless a tombstone */
	struct hk_chunk_section sections[HK_CHUNK_SECTION_SLOTS];
};
static_assert(sizeof(struct hk_chunk_header) == HK_CHUNK_HEADER_BYTES, "header");
static_assert(offsetof(struct hk_chunk_header, checksum) == 16, "header checksum");
static_assert(offsetof(struct hk_chunk_header, sections) == 128, "section table");

static_assert(sizeof(struct hk_chunk_thread) == 32, "thread");

/* Position in one page chain up to which it was read: behind its records in this chunk. */
struct hk_chunk_position {
	uint32_t slot;
	uint32_t stream;
	uint64_t position; /* bytes */
	uint64_t thread;   /* uid of its owner there, below HK_CHUNK_THREADS_MAX */
	uint32_t tid;
	uint32_t reserved;
};
static_assert(sizeof(struct hk_chunk_position) == 32, "position");

#define HK_CHUNK_KEYS 8u

/* Fixed part of a site's definition; function, library and domain follow, each with a NUL, nothing
 * between. */
struct hk_chunk_site_entry {
	uint32_t id;
	uint32_t flags;
	uint8_t meaning;
	uint8_t key_count;
	uint8_t keys[HK_CHUNK_KEYS];
	uint16_t function_bytes, library_bytes, domain_bytes; /* without the NUL */
};
static_assert(sizeof(struct hk_chunk_site_entry) == 24, "site");

/* What a call site is, with its strings. */
struct hk_chunk_site {
	uint32_t id;
	uint32_t flags;	 /* HK_HOOK_* of hooks/hook.h */
	uint8_t meaning; /* enum hk_meaning of hooks/hook.h */
	uint8_t key_count;
	uint8_t keys[HK_CHUNK_KEYS]; /* enum hk_key of each payload word */
	const char *function, *library, *domain;
	const char *signature; /* hooks/signature.h; NULL or "": unknown */
};

enum hk_lanes_column {
	HK_COLUMN_RUNS = 0,   /* varints: lane, records in a row */
	HK_COLUMN_SHAPES = 1, /* 32-bit words: site | kind << 20 | payload words << 24 */
	HK_COLUMN_SHAPE = 2,  /* per record: varint, index of its shape */
	HK_COLUMN_START =
	    3, /* per record: zigzag varint, start less the previous start of the lane */
	HK_COLUMN_DURATION = 4, /* per record: varint, ns */
	HK_COLUMN_PAYLOAD =
	    5, /* per word: zigzag varint, less the same word of the previous record of the shape */
};
#define HK_LANES_COLUMNS 6u
#define HK_SHAPE_KIND_SHIFT 20
#define HK_SHAPE_WORDS_SHIFT 24

/* Head of a lane section; the columns follow in order. */
struct hk_lanes_directory {
	uint64_t base_ticks; /* "previous start" of the first record of every lane */
	uint32_t records, runs, shapes, words;
	uint32_t column_bytes[HK_LANES_COLUMNS];
};
static_assert(sizeof(struct hk_lanes_directory) == 48, "lane directory");

#endif
