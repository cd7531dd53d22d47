#include "tensor/pairs.h"

#ifdef __x86_64__

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE AVX2 static inline __attribute__((always_inline))
#define DOUBLE_DIGITS 53
#define DOUBLE_BIAS 1023

bool hk_pairs_avx2_usable(void)
{
	return __builtin_cpu_supports("avx2");
}

/* hk_rounding_number for four doubles. */
struct numbering {
	__m128i dropped; /* last digits of a double that the dtype does not have */
	__m256i half, bias;
	__m256d least, to_integer; /* the smallest normal number, and what makes its ULP 1 */
	bool rounds;
};

INLINE __m256d power_of_two(int exponent)
{
	return _mm256_castsi256_pd(
	    _mm256_set1_epi64x((int64_t)(exponent + DOUBLE_BIAS) << (DOUBLE_DIGITS - 1)));
}

INLINE struct numbering numbering_of(struct hk_rounding rounding)
{
	int dropped = DOUBLE_DIGITS - rounding.digits;
	int64_t bias = (int64_t)(rounding.least + DOUBLE_BIAS - 1) << (rounding.digits - 1);
	bool rounds = dropped > 0;

	return (struct numbering){
	    .dropped = _mm_cvtsi32_si128(dropped),
	    .half = _mm256_set1_epi64x(rounds ? (1ll << (dropped - 1)) - 1 : 0),
	    .bias = _mm256_set1_epi64x(bias),
	    .least = rounds ? power_of_two(rounding.least) : _mm256_setzero_pd(),
	    .to_integer =
		rounds ? power_of_two(rounding.digits - 1 - rounding.least) : _mm256_setzero_pd(),
	    .rounds = rounds,
	};
}

INLINE __m256i number(const struct numbering *numbering, __m256d x)
{
	const __m256d sign = _mm256_set1_pd(-0.0), integers = _mm256_set1_pd(0x1p52);
	__m256d size = _mm256_andnot_pd(sign, x);
	__m256i bits = _mm256_castpd_si256(size), negative, small;

	if (numbering->rounds) {
		__m256i odd = _mm256_and_si256(_mm256_srl_epi64(bits, numbering->dropped),
					       _mm256_set1_epi64x(1));
		__m256d is_small = _mm256_cmp_pd(size, numbering->least, _CMP_LT_OQ);
		bits = _mm256_add_epi64(bits, _mm256_add_epi64(numbering->half, odd));
		bits =
		    _mm256_sub_epi64(_mm256_srl_epi64(bits, numbering->dropped), numbering->bias);
		size = _mm256_add_pd(_mm256_mul_pd(size, numbering->to_integer), integers);
		small = _mm256_sub_epi64(_mm256_castpd_si256(size), _mm256_castpd_si256(integers));
		bits = _mm256_blendv_epi8(bits, small, _mm256_castpd_si256(is_small));
	}
	negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), _mm256_castpd_si256(x));
	return _mm256_sub_epi64(_mm256_xor_si256(bits, negative), negative);
}

/* The difference of two numbers fits 64 bits without a sign. */
INLINE __m256i distance(__m256i a, __m256i b)
{
	__m256i less = _mm256_cmpgt_epi64(b, a), apart = _mm256_sub_epi64(a, b);

	return _mm256_sub_epi64(_mm256_xor_si256(apart, less), less);
}

struct pairing {
	__m256d dot, squares_a, squares_b, squares, relative, max_abs, max_rel;
	__m256i equal, relatives, within_1000, within_5000;
};

INLINE void start(struct pairing *pairing, const struct hk_pair_sums *sums)
{
	*pairing = (struct pairing){
	    .dot = _mm256_loadu_pd(sums->dot),
	    .squares_a = _mm256_loadu_pd(sums->squares_a),
	    .squares_b = _mm256_loadu_pd(sums->squares_b),
	    .squares = _mm256_loadu_pd(sums->squares),
	    .relative = _mm256_loadu_pd(sums->relative),
	};
}

/* A mask is -1 where it holds. */
INLINE __m256i count_in(__m256i counts, __m256d mask)
{
	return _mm256_sub_epi64(counts, _mm256_castpd_si256(mask));
}

INLINE void add_relative(struct pairing *pairing, __m256d apart, __m256d b, __m256d equal)
{
	__m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), b);
	__m256d known = _mm256_cmp_pd(size, _mm256_setzero_pd(), _CMP_NEQ_OQ);
	__m256d relative = _mm256_and_pd(_mm256_div_pd(apart, size), known);
	__m256d in_1000 = _mm256_cmp_pd(relative, _mm256_set1_pd(1.0 / 1000), _CMP_LT_OQ);
	__m256d in_5000 = _mm256_cmp_pd(relative, _mm256_set1_pd(5.0 / 1000), _CMP_LT_OQ);
	__m256d taken = _mm256_or_pd(known, equal);

	pairing->relative = _mm256_add_pd(pairing->relative, relative);
	pairing->max_rel = _mm256_max_pd(pairing->max_rel, relative);
	pairing->relatives = count_in(pairing->relatives, known);
	pairing->within_1000 = count_in(pairing->within_1000, _mm256_and_pd(in_1000, taken));
	pairing->within_5000 = count_in(pairing->within_5000, _mm256_and_pd(in_5000, taken));
}

INLINE __m256d add_product(__m256d sum, __m256d a, __m256d b)
{
	return _mm256_add_pd(sum, _mm256_mul_pd(a, b));
}

INLINE void add_four(struct pairing *pairing, __m256d a, __m256d b)
{
	__m256d apart = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(a, b));
	__m256d equal = _mm256_cmp_pd(apart, _mm256_setzero_pd(), _CMP_EQ_OQ);

	pairing->dot = add_product(pairing->dot, a, b);
	pairing->squares_a = add_product(pairing->squares_a, a, a);
	pairing->squares_b = add_product(pairing->squares_b, b, b);
	pairing->squares = add_product(pairing->squares, apart, apart);
	pairing->max_abs = _mm256_max_pd(pairing->max_abs, apart);
	pairing->equal = count_in(pairing->equal, equal);
	add_relative(pairing, apart, b, equal);
}

INLINE void end_maximum(double *maximum, __m256d lanes)
{
	double each[HK_PAIR_LANES];

	_mm256_storeu_pd(each, lanes);
	for (int i = 0; i < HK_PAIR_LANES; i++) {
		*maximum = each[i] > *maximum ? each[i] : *maximum;
	}
}

INLINE void end_count(uint64_t *count, __m256i lanes)
{
	uint64_t each[HK_PAIR_LANES];

	_mm256_storeu_si256((__m256i_u *)each, lanes);
	*count += each[0] + each[1] + each[2] + each[3];
}

INLINE void end(const struct pairing *pairing, struct hk_pair_sums *sums)
{
	_mm256_storeu_pd(sums->dot, pairing->dot);
	_mm256_storeu_pd(sums->squares_a, pairing->squares_a);
	_mm256_storeu_pd(sums->squares_b, pairing->squares_b);
	_mm256_storeu_pd(sums->squares, pairing->squares);
	_mm256_storeu_pd(sums->relative, pairing->relative);
	end_maximum(&sums->max_abs, pairing->max_abs);
	end_maximum(&sums->max_rel, pairing->max_rel);
	end_count(&sums->equal, pairing->equal);
	end_count(&sums->relatives, pairing->relatives);
	end_count(&sums->within_1000, pairing->within_1000);
	end_count(&sums->within_5000, pairing->within_5000);
}

AVX2 void hk_pairs_add_avx2(const double *a, const double *b, size_t count,
			    struct hk_rounding rounding, struct hk_pair_sums *sums,
			    uint64_t *distances)
{
	struct numbering numbering = numbering_of(rounding);
	struct pairing pairing;

	start(&pairing, sums);
	for (size_t i = 0; i < count; i += HK_PAIR_LANES) {
		__m256d of_a = _mm256_loadu_pd(a + i), of_b = _mm256_loadu_pd(b + i);
		add_four(&pairing, of_a, of_b);
		_mm256_storeu_si256((__m256i_u *)(distances + i),
				    distance(number(&numbering, of_a), number(&numbering, of_b)));
	}
	end(&pairing, sums);
}

#endif
