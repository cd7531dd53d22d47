#include "tensor/loops/kernels.h"

#ifdef __x86_64__

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,popcnt")))
#define LOOPS_TARGET AVX512
#include "tensor/loops/widen.h"
#define INLINE AVX512 static inline __attribute__((always_inline))
#define AHEAD 4096 /* bytes of prefetch: what a core reads in the time that memory takes */

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

struct digesting {
	__m512i product, plain, key, step;
};

struct summing {
	__m512d sum_0, sum_1, squares_0, squares_1;
};

INLINE struct digesting start_digest(const struct hk_digest_lanes *lanes, size_t first)
{
	__m512i start = _mm512_set1_epi64((long long)(first * HK_DIGEST_STEP));

	return (struct digesting){
	    .product = _mm512_loadu_si512(lanes->product),
	    .plain = _mm512_loadu_si512(lanes->plain),
	    .key = _mm512_add_epi64(_mm512_loadu_si512(hk_digest_keys), start),
	    .step = _mm512_set1_epi64((long long)HK_DIGEST_STEP),
	};
}

INLINE void add_digest(struct digesting *digesting, __m512i words)
{
	__m512i x = _mm512_xor_si512(words, digesting->key);
	__m512i product = _mm512_mul_epu32(x, _mm512_srli_epi64(x, 32));

	digesting->product = _mm512_add_epi64(digesting->product, product);
	digesting->plain = _mm512_add_epi64(digesting->plain, words);
	digesting->key = _mm512_add_epi64(digesting->key, digesting->step);
}

INLINE void end_digest(const struct digesting *digesting, struct hk_digest_lanes *lanes)
{
	_mm512_storeu_si512(lanes->product, digesting->product);
	_mm512_storeu_si512(lanes->plain, digesting->plain);
}

INLINE struct summing start_sums(const struct hk_sums *sums)
{
	return (struct summing){
	    .sum_0 = _mm512_loadu_pd(sums->sum),
	    .sum_1 = _mm512_loadu_pd(sums->sum + 8),
	    .squares_0 = _mm512_loadu_pd(sums->squares),
	    .squares_1 = _mm512_loadu_pd(sums->squares + 8),
	};
}

INLINE void end_sums(const struct summing *summing, struct hk_sums *sums)
{
	_mm512_storeu_pd(sums->sum, summing->sum_0);
	_mm512_storeu_pd(sums->sum + 8, summing->sum_1);
	_mm512_storeu_pd(sums->squares, summing->squares_0);
	_mm512_storeu_pd(sums->squares + 8, summing->squares_1);
}

/* The product of a float with itself is exact in double: adding it is rounded once, fused or not.
 */
INLINE void add_floats(struct summing *summing, __m512d x_0, __m512d x_1)
{
	summing->sum_0 = _mm512_add_pd(summing->sum_0, x_0);
	summing->sum_1 = _mm512_add_pd(summing->sum_1, x_1);
	summing->squares_0 = _mm512_fmadd_pd(x_0, x_0, summing->squares_0);
	summing->squares_1 = _mm512_fmadd_pd(x_1, x_1, summing->squares_1);
}

INLINE void add_doubles(struct summing *summing, __m512d x_0, __m512d x_1)
{
	summing->sum_0 = _mm512_add_pd(summing->sum_0, x_0);
	summing->sum_1 = _mm512_add_pd(summing->sum_1, x_1);
	summing->squares_0 = _mm512_add_pd(summing->squares_0, _mm512_mul_pd(x_0, x_0));
	summing->squares_1 = _mm512_add_pd(summing->squares_1, _mm512_mul_pd(x_1, x_1));
}

INLINE __m512d low_half(const void *floats)
{
	return _mm512_cvtps_pd(_mm256_loadu_ps(floats));
}

INLINE __m512d high_half(const void *floats)
{
	return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)floats + 8));
}

struct float_range {
	__m512 min, max;
	uint64_t zeros;
};

INLINE struct float_range start_floats(void)
{
	return (struct float_range){
	    .min = _mm512_set1_ps(__builtin_inff()),
	    .max = _mm512_set1_ps(-__builtin_inff()),
	};
}

INLINE void range_floats(struct float_range *range, __m512 x)
{
	__mmask16 zero = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ);

	range->min = _mm512_min_ps(x, range->min);
	range->max = _mm512_max_ps(x, range->max);
	range->zeros += (uint64_t)__builtin_popcount(zero);
}

INLINE void end_floats(const struct float_range *range, struct hk_sums *sums)
{
	hk_sums_widen_range(sums, (double)_mm512_reduce_min_ps(range->min),
			    (double)_mm512_reduce_max_ps(range->max));
	sums->zeros += range->zeros;
}

AVX512 static void take_f32(const void *from, size_t chunks, struct hk_sums *sums,
			    struct hk_digest_lanes *lanes)
{
	struct digesting digesting = start_digest(lanes, 0);
	struct summing summing = start_sums(sums);
	struct float_range range = start_floats();
	size_t groups = chunks * (HK_CHUNK / sizeof(float) / HK_LANES);

	for (const char *at = from; groups; groups--, at += HK_STRIPE) {
		__m512 x = _mm512_loadu_ps(at);
		_mm_prefetch(at + AHEAD, _MM_HINT_T0);
		add_digest(&digesting, _mm512_castps_si512(x));
		range_floats(&range, x);
		add_floats(&summing, low_half(at), high_half(at));
	}
	end_digest(&digesting, lanes);
	end_sums(&summing, sums);
	end_floats(&range, sums);
}

struct half_range {
	__m512 min, max;
	__m512i zeros; /* of 16 bits each: a block has fewer */
};

INLINE struct half_range start_halves(void)
{
	return (struct half_range){
	    .min = _mm512_set1_ps(__builtin_inff()),
	    .max = _mm512_set1_ps(-__builtin_inff()),
	    .zeros = _mm512_setzero_si512(),
	};
}

/* A stripe of numbers that are zero if all bits but the sign's are. */
INLINE void count_zeros(struct half_range *range, __m512i halves)
{
	__mmask32 zero = _mm512_testn_epi16_mask(halves, _mm512_set1_epi16(0x7fff));

	range->zeros =
	    _mm512_mask_sub_epi16(range->zeros, zero, range->zeros, _mm512_set1_epi16(-1));
}

/* By way of memory: a load widens half a vector in one step, and half a register takes two. */
INLINE void add_halves(struct summing *summing, struct half_range *range, __m512 x)
{
	float memory[HK_LANES];
	const float *at = memory;

	range->min = _mm512_min_ps(x, range->min);
	range->max = _mm512_max_ps(x, range->max);
	_mm512_storeu_ps(memory, x);
	__asm__("" : "+r"(at) : : "memory");
	add_floats(summing, low_half(at), high_half(at));
}

INLINE void end_halves(const struct half_range *range, struct hk_sums *sums)
{
	__m512i zeros = _mm512_madd_epi16(range->zeros, _mm512_set1_epi16(1));

	hk_sums_widen_range(sums, (double)_mm512_reduce_min_ps(range->min),
			    (double)_mm512_reduce_max_ps(range->max));
	sums->zeros += (uint64_t)_mm512_reduce_add_epi32(zeros);
}

INLINE __m512 load_bf16(const char *from)
{
	__m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i_u *)from));

	return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}

INLINE __m512 load_f16(const char *from)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)from));
}

#define TAKE_HALVES(name, load)                                                        \
	AVX512 static void name(const void *from, size_t chunks, struct hk_sums *sums, \
				struct hk_digest_lanes *lanes)                         \
	{                                                                              \
		struct digesting digesting = start_digest(lanes, 0);                   \
		struct summing summing = start_sums(sums);                             \
		struct half_range range = start_halves();                              \
		size_t stripes = chunks * (HK_CHUNK / HK_STRIPE);                      \
                                                                                       \
		for (const char *at = from; stripes; stripes--, at += HK_STRIPE) {     \
			__m512i words = _mm512_loadu_si512(at);                        \
			_mm_prefetch(at + AHEAD, _MM_HINT_T0);                         \
			add_digest(&digesting, words);                                 \
			count_zeros(&range, words);                                    \
			add_halves(&summing, &range, load(at));                        \
			add_halves(&summing, &range, load(at + HK_STRIPE / 2));        \
		}                                                                      \
		end_digest(&digesting, lanes);                                         \
		end_sums(&summing, sums);                                              \
		end_halves(&range, sums);                                              \
	}

TAKE_HALVES(take_f16, load_f16)
TAKE_HALVES(take_bf16, load_bf16)

struct double_range {
	__m512d min, max;
	__m512i zeros;
};

INLINE struct double_range start_doubles(void)
{
	return (struct double_range){
	    .min = _mm512_set1_pd(__builtin_inf()),
	    .max = _mm512_set1_pd(-__builtin_inf()),
	    .zeros = _mm512_setzero_si512(),
	};
}

INLINE void range_doubles(struct double_range *range, __m512d x)
{
	__mmask8 zero = _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_EQ_OQ);

	range->min = _mm512_min_pd(x, range->min);
	range->max = _mm512_max_pd(x, range->max);
	range->zeros =
	    _mm512_mask_sub_epi64(range->zeros, zero, range->zeros, _mm512_set1_epi64(-1));
}

INLINE void end_doubles(const struct double_range *range, struct hk_sums *sums)
{
	hk_sums_widen_range(sums, _mm512_reduce_min_pd(range->min),
			    _mm512_reduce_max_pd(range->max));
	sums->zeros += (uint64_t)_mm512_reduce_add_epi64(range->zeros);
}

AVX512 static void take_f64(const void *from, size_t chunks, struct hk_sums *sums,
			    struct hk_digest_lanes *lanes)
{
	struct digesting digesting = start_digest(lanes, 0);
	struct summing summing = start_sums(sums);
	struct double_range range = start_doubles();

	for (const char *at = from; chunks; chunks--, at += HK_CHUNK) {
		__m512d x_0 = _mm512_loadu_pd(at), x_1 = _mm512_loadu_pd(at + HK_STRIPE);
		_mm_prefetch(at + AHEAD, _MM_HINT_T0);
		_mm_prefetch(at + AHEAD + HK_STRIPE, _MM_HINT_T0);
		add_digest(&digesting, _mm512_castpd_si512(x_0));
		add_digest(&digesting, _mm512_castpd_si512(x_1));
		range_doubles(&range, x_0);
		range_doubles(&range, x_1);
		add_doubles(&summing, x_0, x_1);
	}
	end_digest(&digesting, lanes);
	end_sums(&summing, sums);
	end_doubles(&range, sums);
}

AVX512 static void sum_f64(const double *from, size_t groups, struct hk_sums *sums)
{
	struct summing summing = start_sums(sums);
	struct double_range range = start_doubles();

	for (; groups; groups--, from += HK_LANES) {
		__m512d x_0 = _mm512_loadu_pd(from), x_1 = _mm512_loadu_pd(from + 8);
		range_doubles(&range, x_0);
		range_doubles(&range, x_1);
		add_doubles(&summing, x_0, x_1);
	}
	end_sums(&summing, sums);
	end_doubles(&range, sums);
}

AVX512 static void digest(const void *from, size_t first, size_t stripes,
			  struct hk_digest_lanes *lanes)
{
	struct digesting digesting = start_digest(lanes, first);

	for (const char *at = from; stripes; stripes--, at += HK_STRIPE) {
		_mm_prefetch(at + AHEAD, _MM_HINT_T0);
		add_digest(&digesting, _mm512_loadu_si512(at));
	}
	end_digest(&digesting, lanes);
}

/* Classes of vfpclasspd. */
#define NANS 0x81
#define POSITIVE_INF 0x08
#define NEGATIVE_INF 0x10

AVX512 static size_t keep_finite(double *x, size_t count, struct hk_specials *specials)
{
	size_t kept = 0, i = 0;

	for (; i + 8 <= count; i += 8) {
		__m512d value = _mm512_loadu_pd(x + i);
		unsigned nans = _mm512_fpclass_pd_mask(value, NANS);
		unsigned positive = _mm512_fpclass_pd_mask(value, POSITIVE_INF);
		unsigned negative = _mm512_fpclass_pd_mask(value, NEGATIVE_INF);
		unsigned finite = ~(nans | positive | negative) & 0xff;
		specials->nans += (unsigned)__builtin_popcount(nans);
		specials->positive_infs += (unsigned)__builtin_popcount(positive);
		specials->negative_infs += (unsigned)__builtin_popcount(negative);
		_mm512_storeu_pd(x + kept, _mm512_maskz_compress_pd((__mmask8)finite, value));
		kept += (unsigned)__builtin_popcount(finite);
	}
	size_t rest = hk_keep_finite_plain(x + i, count - i, specials);
	memmove(x + kept, x + i, rest * sizeof(*x));
	return kept + rest;
}

const struct hk_kernels hk_kernels_avx512 = {
    .name = "AVX-512",
    .usable = usable,
    .take_f16 = take_f16,
    .take_bf16 = take_bf16,
    .take_f32 = take_f32,
    .take_f64 = take_f64,
    .sum_f64 = sum_f64,
    .widening = &widening,
    .keep_finite = keep_finite,
    .digest = digest,
};

#endif
