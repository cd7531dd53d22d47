#include "chunk/codec/varints.h"

#include "base/varint.h"

static bool runs_everywhere(void)
{
	return true;
}

static uint8_t *put_plain(uint8_t *at, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		at += hk_varint_put(at, values[i]);
	}
	return at;
}

#ifdef __x86_64__

#include <immintrin.h>

#define TOP_BITS 0x8080808080808080ull
#define LOW_BITS 0x7f7f7f7f7f7f7f7full

/* AMD's processors had pdep in microcode until Zen 3: slower than shifts. */
static bool runs_bmi2(void)
{
	return __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("bmi") &&
	       !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2") &&
	       !__builtin_cpu_is("bdver4");
}

#define TARGET_BMI2 __attribute__((target("bmi,bmi2,lzcnt")))

TARGET_BMI2 static inline uint8_t *put_one_bmi2(uint8_t *at, uint64_t value)
{
	if (__builtin_expect(value >> 56 != 0, 0)) {
		return at + hk_varint_put(at, value);
	}
	unsigned bits = 64u - (unsigned)__builtin_clzll(value | 1);
	unsigned more = (bits * 9 - 1) >> 6; /* number of bytes but the last: (bits - 1) / 7 */
	uint64_t x = _pdep_u64(value, LOW_BITS) | _bzhi_u64(TOP_BITS, 8 * more);
	memcpy(at, &x, sizeof(x));
	return at + more + 1;
}

/* Eight values of one byte each: nearly all shapes, and durations of a short function. */
static inline bool put_eight_bytes(uint8_t *at, const uint64_t *values)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < 8; i++) {
		all |= values[i];
		at[i] = (uint8_t)values[i];
	}
	return all < 0x80;
}

TARGET_BMI2 static uint8_t *put_bmi2(uint8_t *at, const uint64_t *values, size_t count)
{
	size_t i = 0;

	while (i + 8 <= count) {
		if (put_eight_bytes(at, values + i)) {
			at += 8;
			i += 8;
			continue;
		}
		for (size_t end = i + 8; i < end; i++) {
			at = put_one_bmi2(at, values[i]);
		}
	}
	for (; i < count; i++) {
		at = put_one_bmi2(at, values[i]);
	}
	return at;
}

static bool runs_avx512(void)
{
	return runs_bmi2() && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
	       __builtin_cpu_supports("popcnt");
}

/* Eight values are spread over eight bytes each, seven bits a byte; then the bytes that are in use
 * move together. */
__attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt"))) static uint8_t *
put_avx512(uint8_t *at, const uint64_t *values, size_t count)
{
	const __m512i groups = _mm512_set1_epi64(0x312a231c150e0700ll); /* bits 0, 7, 14 .. 49 */
	const __m512i low = _mm512_set1_epi8(0x7f), top = _mm512_set1_epi8((char)0x80);
	const __m512i more = _mm512_set1_epi64(-0x80); /* values longer than one byte */
	size_t i = 0;

	for (; i + 8 <= count; i += 8) {
		__m512i v = _mm512_loadu_si512(values + i);
		/* Nearly all shapes, and durations of a short function. */
		if (!_mm512_test_epi64_mask(v, more)) {
			_mm_storel_epi64((__m128i *)(void *)at, _mm512_cvtepi64_epi8(v));
			at += 8;
			continue;
		}
		if (_mm512_test_epi64_mask(v, _mm512_set1_epi64((long long)(0xffull << 56)))) {
			at = put_plain(at, values + i, 8);
			continue;
		}
		__m512i x = _mm512_and_si512(_mm512_multishift_epi64_epi8(groups, v), low);
		/* A bit per byte, eight of each value: those up to the last one that is not 0. */
		uint64_t used = _mm512_test_epi8_mask(x, x);
		used |= used >> 1 & LOW_BITS;
		used |= used >> 2 & 0x3f3f3f3f3f3f3f3full;
		used |= used >> 4 & 0x0f0f0f0f0f0f0f0full;
		x = _mm512_or_si512(x, _mm512_maskz_mov_epi8(used >> 1 & LOW_BITS, top));
		used |= 0x0101010101010101ull;
		_mm512_storeu_si512(at, _mm512_maskz_compress_epi8(used, x));
		at += _mm_popcnt_u64(used);
	}
	/* The compiler does not emit it, and code without AVX would be slow from here on. */
	_mm256_zeroupper();
	return put_bmi2(at, values + i, count - i);
}

#endif

const struct hk_varints_way hk_varints_ways[] = {
#ifdef __x86_64__
    {"avx512", put_avx512, runs_avx512},
    {"bmi2", put_bmi2, runs_bmi2},
#endif
    {"plain", put_plain, runs_everywhere},
};
const unsigned hk_varints_way_count = sizeof(hk_varints_ways) / sizeof(hk_varints_ways[0]);

hk_varints_put_fn *hk_varints_put_here(void)
{
	unsigned i = 0;

	while (!hk_varints_ways[i].runs_here()) {
		i++;
	}
	return hk_varints_ways[i].put;
}
