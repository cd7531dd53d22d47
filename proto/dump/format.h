/* format.h: the layout of a dump's file, as FORMAT.md says it. */
#ifndef HK_DUMP_FORMAT_H
#define HK_DUMP_FORMAT_H

#include <stdint.h>

#include "dump/dump.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the structs below are the file's bytes: little-endian machines only"
#endif

#define HK_DUMP_MAGIC 0x4b4c42504d55444bull /* the bytes "KDUMPBLK" */
#define HK_DUMP_MAJOR 1
#define HK_DUMP_MINOR 0

enum hk_dump_block_type {
	HK_DUMP_BLOCK_ABOUT = 1,
	HK_DUMP_BLOCK_TEXTS = 2,
	HK_DUMP_BLOCK_STACKS = 3,
	HK_DUMP_BLOCK_ROWS = 4,
	HK_DUMP_BLOCK_PAYLOAD = 5,
	HK_DUMP_BLOCK_STEP = 6,
	HK_DUMP_BLOCK_END = 7
};

#define HK_DUMP_BLOCK_ZSTD 1u /* flag: the body is one zstd frame */
#define HK_DUMP_BLOCK_PLANES                                                \
	2u /* flag: before that, the bytes of its elements were taken apart \
	    */

#define HK_DUMP_BODY_MAX (64u << 20)  /* raw bytes of a body */
#define HK_DUMP_RATIO_MAX 1024u	      /* raw to stored bytes, of all blocks but PAYLOAD */
#define HK_DUMP_PART_BYTES (1u << 20) /* raw bytes of a PAYLOAD block, as written */

struct hk_dump_block {
	uint64_t magic;
	uint16_t major, minor;
	uint16_t type, flags;
	uint64_t stored_bytes, raw_bytes; /* of the body, without its padding to 8 bytes */
	uint64_t argument[3];		  /* by type: see FORMAT.md */
	uint64_t body_checksum;		  /* XXH3-64 of the stored bytes */
	uint64_t header_checksum;	  /* XXH3-64 of what is before it */
};
_Static_assert(sizeof(struct hk_dump_block) == 72, "72 bytes");

/* A row as columns have it: its texts are numbers. */
struct hk_dump_cells {
	uint64_t sequence, forward_sequence, step;
	uint64_t count, nans, positive_infs, negative_infs, zeros;
	double min, max, mean, l2, deviation;
	uint64_t digest;
	uint64_t storage, version, offset;
	uint64_t thread, begin_ns;
	uint32_t name, of, number, slot, device, flags, stack;
	uint32_t scalar_bytes; /* HK_DUMP_NONE: no scalar */
	uint8_t kind, phase, role, dtype, dimensions;
};

/* X(id, field): the columns with one value for each row. Their width is the field's. */
#define HK_DUMP_COLUMNS(X)     \
	X(1, sequence)         \
	X(2, forward_sequence) \
	X(3, step)             \
	X(4, kind)             \
	X(5, phase)            \
	X(6, role)             \
	X(7, name)             \
	X(8, of)               \
	X(9, number)           \
	X(10, slot)            \
	X(11, device)          \
	X(12, flags)           \
	X(13, dtype)           \
	X(14, dimensions)      \
	X(15, count)           \
	X(16, nans)            \
	X(17, positive_infs)   \
	X(18, negative_infs)   \
	X(19, zeros)           \
	X(20, min)             \
	X(21, max)             \
	X(22, mean)            \
	X(23, l2)              \
	X(24, deviation)       \
	X(25, digest)          \
	X(26, storage)         \
	X(27, version)         \
	X(28, offset)          \
	X(29, stack)           \
	X(30, thread)          \
	X(31, begin_ns)        \
	X(32, scalar_bytes)
#define HK_DUMP_COLUMN_SEQUENCE 1
#define HK_DUMP_COLUMN_SHAPES 33  /* the sizes of all rows' dimensions, u64 */
#define HK_DUMP_COLUMN_SCALARS 34 /* the bytes of all rows' scalars */

struct hk_dump_column {
	uint16_t id, width; /* width: bytes of a value */
	uint32_t reserved;
	uint64_t bytes;
};
_Static_assert(sizeof(struct hk_dump_column) == 16, "16 bytes");

#endif
