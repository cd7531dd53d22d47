/* half.h: one 16-bit or 8-bit floating-point number as a float. Internal. */
#ifndef HK_TENSOR_LOOPS_HALF_H
#define HK_TENSOR_LOOPS_HALF_H

#include <stdint.h>
#include <string.h>

static inline float hk_float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t hk_bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float hk_float_of_bf16(uint16_t bits)
{
	return hk_float_of_bits((uint32_t)bits << 16);
}

/* The exponent's bias moves; subnormal numbers are integers of a small unit; Inf and NaN get the
 * exponent that they have in a float. Subnormal floats, which are slow, do not occur on the way. */
static inline float hk_float_of_f16(uint16_t half)
{
	uint32_t magnitude = half & 0x7fffu, bits = (magnitude << 13) + (112u << 23);
	uint32_t small = hk_bits_of_float((float)(int32_t)magnitude * 0x1p-24f);

	bits = magnitude >= 0x7c00u ? bits | 0x7f800000u : bits;
	bits = magnitude < 0x0400u ? small : bits;
	return hk_float_of_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

/* Float8 of 5 exponent bits: the upper byte of a float16. */
static inline float hk_float_of_e5m2(uint8_t byte)
{
	return hk_float_of_f16((uint16_t)(byte << 8));
}

/* Float8 of 4 exponent bits, biased by 7, without Inf. */
static inline float hk_float_of_e4m3(uint8_t byte)
{
	uint32_t magnitude = byte & 0x7fu, bits = (magnitude << 20) + (120u << 23);
	uint32_t small = hk_bits_of_float((float)(int32_t)magnitude * 0x1p-9f);

	bits = magnitude == 0x7fu ? 0x7fc00000u : bits;
	bits = magnitude < 0x08u ? small : bits;
	return hk_float_of_bits(bits | (uint32_t)(byte & 0x80u) << 24);
}

#endif
