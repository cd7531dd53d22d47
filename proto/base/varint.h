/* varint.h: base-128 integers, least significant group first, without a branch per byte.
 *
 * Lengths of durations and deltas are close to random, so that a loop over the bytes mispredicts
 * about once per value; the common sizes are spread and gathered with shifts instead. Pure
 * functions, inline because they are the inner loop.
 */
#ifndef HK_BASE_VARINT_H
#define HK_BASE_VARINT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HK_VARINT_BYTES_MAX 10u

/* Writes `value` and returns its length; `at` must have room for HK_VARINT_BYTES_MAX whatever the
 * value. */
static inline unsigned hk_varint_put(uint8_t *at, uint64_t value)
{
	if (__builtin_expect(value < 1ull << 56, 1)) {
		unsigned bits = 64u - (unsigned)__builtin_clzll(value | 1);
		unsigned bytes = (bits * 9 + 63) >> 6;
		uint64_t x = (value & 0x000000000fffffffull) | (value & 0x00fffffff0000000ull) << 4;
		x = (x & 0x00003fff00003fffull) | (x & 0x0fffc0000fffc000ull) << 2;
		x = (x & 0x007f007f007f007full) | (x & 0x3f803f803f803f80ull) << 1;
		x |= 0x8080808080808080ull & ((1ull << (8 * (bytes - 1))) - 1);
		memcpy(at, &x, 8);
		return bytes;
	}
	unsigned n = 0;
	for (; value >= 0x80; value >>= 7) {
		at[n++] = (uint8_t)(value | 0x80);
	}
	at[n++] = (uint8_t)value;
	return n;
}

/* Reads one value byte by byte: for the last bytes of a buffer, and for values of 9 and 10
 * bytes. */
static inline bool hk_varint_get_slow(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;
		if (shift == 63 && byte > 1) {
			return false;
		}
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

/* Reads one value and moves *at behind it; false if it is cut off at `end` or has more than 64
 * bits. */
static inline bool hk_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t x;

	if (__builtin_expect(end - *at < 8, 0)) {
		return hk_varint_get_slow(at, end, ret_value);
	}
	memcpy(&x, *at, 8);
	uint64_t last = ~x & 0x8080808080808080ull;
	if (__builtin_expect(!last, 0)) {
		return hk_varint_get_slow(at, end, ret_value);
	}
	/* Keeps the bytes up to and with the first one whose top bit is clear. */
	x &= last ^ (last - 1);
	x &= 0x7f7f7f7f7f7f7f7full;
	x = (x & 0x007f007f007f007full) | (x & 0x7f007f007f007f00ull) >> 1;
	x = (x & 0x00003fff00003fffull) | (x & 0x3fff00003fff0000ull) >> 2;
	x = (x & 0x000000000fffffffull) | (x & 0x0fffffff00000000ull) >> 4;
	*at += (unsigned)__builtin_ctzll(last) / 8 + 1;
	*ret_value = x;
	return true;
}

static inline uint64_t hk_zigzag(uint64_t delta)
{
	return delta << 1 ^ (uint64_t)((int64_t)delta >> 63);
}

static inline uint64_t hk_unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

#endif
