#include "cli/compare/array/recast.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/widen.h"

#define BLOCK 1024

static uint16_t bfloat16(double value)
{
	float narrow = (float)value;
	uint32_t bits;

	memcpy(&bits, &narrow, sizeof(bits));
	if (isnan(value)) {
		return (uint16_t)(bits >> 16 | 0x40);
	}
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t float16(double value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	double size = fabs(value);
	int exponent;

	if (isnan(value)) {
		return sign | 0x7e00;
	}
	if (size == 0) {
		return sign;
	}
	if (size >= 65520) { /* half way from the largest number to 2^16 */
		return sign | 0x7c00;
	}
	frexp(size, &exponent);
	/* Numbers below 2^-14 have the distance of those above it, 2^-24. */
	int last = exponent < -13 ? -24 : exponent - 11;
	uint32_t steps = (uint32_t)nearbyint(ldexp(size, -last));
	/* A carry into the next power of two comes out right: it adds one to the exponent. */
	return (uint16_t)(sign | (((uint32_t)(last + 24) << 10) + steps));
}

static void narrow(enum hk_dtype dtype, const double *from, size_t count, uint8_t *to)
{
	for (size_t i = 0; i < count; i++) {
		float single = (float)from[i];
		uint16_t half = dtype == HK_DTYPE_BF16 ? bfloat16(from[i]) : float16(from[i]);
		const void *value = dtype == HK_DTYPE_F64   ? (const void *)&from[i]
				    : dtype == HK_DTYPE_F32 ? (const void *)&single
							    : (const void *)&half;
		memcpy(to, value, hk_dtype_bytes(dtype));
		to += hk_dtype_bytes(dtype);
	}
}

int hk_array_recast(struct hk_array *array, enum hk_dtype dtype)
{
	size_t size = hk_dtype_bytes(dtype), old = hk_dtype_bytes(array->dtype), bytes;
	hk_widen *widen = hk_widen_function(hk_kernels_best(), array->dtype);
	double block[BLOCK];

	if (dtype != HK_DTYPE_F64 && dtype != HK_DTYPE_F32 && dtype != HK_DTYPE_F16 &&
	    dtype != HK_DTYPE_BF16) {
		return -EINVAL;
	}
	uint8_t *memory =
	    __builtin_mul_overflow(array->count, size, &bytes) ? NULL : malloc(bytes + 1);
	if (!memory) {
		return -ENOMEM;
	}
	for (uint64_t at = 0; at < array->count; at += BLOCK) {
		size_t count = array->count - at < BLOCK ? (size_t)(array->count - at) : BLOCK;
		widen((const uint8_t *)array->elements + at * old, count, block);
		narrow(dtype, block, count, memory + at * size);
	}
	free(array->memory);
	array->memory = memory;
	array->elements = memory;
	array->dtype = dtype;
	return 0;
}
