/* bytes.h: numbers of an unwind table, read in order. Past the end every read is 0 and sets
 * `failed`. */
#ifndef HK_AGENT_STACK_BYTES_H
#define HK_AGENT_STACK_BYTES_H

#include <stdbool.h>
#include <stdint.h>

struct hk_bytes {
	const uint8_t *at, *end;
	bool failed;
};

/* Pointer encodings (DW_EH_PE_*): format, what it is relative to, and "not there". */
#define HK_BYTES_FORMAT 0x0fu
#define HK_BYTES_RELATIVE 0x70u
#define HK_BYTES_TO_PLACE 0x10u
#define HK_BYTES_OMITTED 0xffu

static inline uint64_t hk_bytes_take(struct hk_bytes *bytes, uint32_t count)
{
	uint64_t value = 0;

	if (bytes->failed || (uint64_t)(bytes->end - bytes->at) < count) {
		bytes->failed = true;
		return 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		value |= (uint64_t)bytes->at[i] << (8 * i);
	}
	bytes->at += count;
	return value;
}

static inline uint8_t hk_bytes_u8(struct hk_bytes *bytes)
{
	return (uint8_t)hk_bytes_take(bytes, 1);
}

static inline uint32_t hk_bytes_u32(struct hk_bytes *bytes)
{
	return (uint32_t)hk_bytes_take(bytes, 4);
}

/* LEB128. Bits above 64 are dropped. */
static inline uint64_t hk_bytes_leb(struct hk_bytes *bytes, bool is_signed)
{
	uint64_t value = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = hk_bytes_u8(bytes);
		value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64) {
		value |= ~0ULL << shift;
	}
	return value;
}

static inline uint64_t hk_bytes_unsigned(struct hk_bytes *bytes)
{
	return hk_bytes_leb(bytes, false);
}

static inline int64_t hk_bytes_signed(struct hk_bytes *bytes)
{
	return (int64_t)hk_bytes_leb(bytes, true);
}

/* A pointer in ENCODING: absolute, or relative to its own place. Any other one fails. */
static inline uintptr_t hk_bytes_pointer(struct hk_bytes *bytes, uint8_t encoding)
{
	uintptr_t place = (uintptr_t)bytes->at, value = 0;

	if (encoding == HK_BYTES_OMITTED) {
		return 0;
	}
	switch (encoding & HK_BYTES_FORMAT) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		value = hk_bytes_take(bytes, 8);
		break;
	case 0x01:
		value = hk_bytes_unsigned(bytes);
		break;
	case 0x02:
		value = hk_bytes_take(bytes, 2);
		break;
	case 0x03:
		value = hk_bytes_u32(bytes);
		break;
	case 0x09:
		value = (uintptr_t)hk_bytes_signed(bytes);
		break;
	case 0x0a:
		value = (uintptr_t)(intptr_t)(int16_t)hk_bytes_take(bytes, 2);
		break;
	case 0x0b:
		value = (uintptr_t)(intptr_t)(int32_t)hk_bytes_u32(bytes);
		break;
	default:
		bytes->failed = true;
	}
	/* An indirect pointer (0x80) leads to a personality routine, which is not wanted here. */
	uint8_t relative = encoding & HK_BYTES_RELATIVE;
	if (relative == HK_BYTES_TO_PLACE) {
		value += place;
	} else if (relative) {
		bytes->failed = true;
	}
	return value;
}

#endif
