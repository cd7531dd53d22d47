/* half.h: one 16-bit or 8-bit floating-point number as a float. Internal. */
#ifndef HK_TENSOR_HALF_H
#define HK_TENSOR_HALF_H

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

/* The exponent's bias moves by a multiplication, which also makes subnormal numbers right. Inf and
 * NaN get the exponent that they have in a float. */
static inline float hk_float_of_f16(uint16_t half)
{
	uint32_t magnitude = half & 0x7fffu;
	uint32_t bits = hk_bits_of_float(hk_float_of_bits(magnitude << 13) * 0x1p112f);

	bits = magnitude >= 0x7c00u ? magnitude << 13 | 0x7f800000u : bits;
	return hk_float_of_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

/* Float8 of 5 exponent bits: the upper byte of a float16. */
static inline float hk_float_of_e5m2(uint8_t byte)
{
	return hk_float_of_f16((uint16_t)(byte << 8));
}

/* Float8 of 4 exponent bits, biased by 7, without Inf: its fraction and exponent are those of a
 * float16 after a shift, but for the bias, which a multiplication moves. */
static inline float hk_float_of_e4m3(uint8_t byte)
{
	uint32_t magnitude = byte & 0x7fu;
	uint32_t bits = hk_bits_of_float(hk_float_of_bits(magnitude << 20) * 0x1p120f);

	bits = magnitude == 0x7fu ? 0x7fc00000u : bits;
	return hk_float_of_bits(bits | (uint32_t)(byte & 0x80u) << 24);
}

#endif
