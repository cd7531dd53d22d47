#include "tensor/loops/kernels.h"

#ifdef __x86_64__

#include <cpuid.h>
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define LOOPS_TARGET AVX2
#include "tensor/loops/widen.h"
#define INLINE AVX2 static inline __attribute__((always_inline))
#define AHEAD 4096 /* bytes of prefetch: what a core reads in the time that memory takes */
#define HALF 32	   /* bytes of a vector */

/* Compilers do not know F16C by name, but whether the system keeps these registers they do. */
static bool usable(void)
{
	uint32_t a, b, c, d;

	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

struct digesting {
	__m256i product[2], plain[2], key[2], step;
};

struct summing {
	__m256d sum[4], squares[4];
};

INLINE __m256i load(const void *from)
{
	return _mm256_loadu_si256((const __m256i_u *)from);
}

INLINE void store(void *to, __m256i x)
{
	_mm256_storeu_si256((__m256i_u *)to, x);
}

INLINE void start_digest(struct digesting *digesting, const struct hk_digest_lanes *lanes,
			 size_t first)
{
	__m256i start = _mm256_set1_epi64x((long long)(first * HK_DIGEST_STEP));

	digesting->step = _mm256_set1_epi64x((long long)HK_DIGEST_STEP);
	for (int i = 0; i < 2; i++) {
		digesting->product[i] = load(lanes->product + 4 * i);
		digesting->plain[i] = load(lanes->plain + 4 * i);
		digesting->key[i] = _mm256_add_epi64(load(hk_digest_keys + 4 * i), start);
	}
}

INLINE void add_digest(struct digesting *digesting, const char *stripe)
{
	for (int i = 0; i < 2; i++) {
		__m256i words = load(stripe + HALF * i);
		__m256i x = _mm256_xor_si256(words, digesting->key[i]);
		__m256i product = _mm256_mul_epu32(x, _mm256_srli_epi64(x, 32));
		digesting->product[i] = _mm256_add_epi64(digesting->product[i], product);
		digesting->plain[i] = _mm256_add_epi64(digesting->plain[i], words);
		digesting->key[i] = _mm256_add_epi64(digesting->key[i], digesting->step);
	}
}

INLINE void end_digest(const struct digesting *digesting, struct hk_digest_lanes *lanes)
{
	for (int i = 0; i < 2; i++) {
		store(lanes->product + 4 * i, digesting->product[i]);
		store(lanes->plain + 4 * i, digesting->plain[i]);
	}
}

INLINE void start_sums(struct summing *summing, const struct hk_sums *sums)
{
	for (int i = 0; i < 4; i++) {
		summing->sum[i] = _mm256_loadu_pd(sums->sum + 4 * i);
		summing->squares[i] = _mm256_loadu_pd(sums->squares + 4 * i);
	}
}

INLINE void end_sums(const struct summing *summing, struct hk_sums *sums)
{
	for (int i = 0; i < 4; i++) {
		_mm256_storeu_pd(sums->sum + 4 * i, summing->sum[i]);
		_mm256_storeu_pd(sums->squares + 4 * i, summing->squares[i]);
	}
}

struct float_range {
	__m256 min, max;
	__m256i zeros;
};

INLINE void start_floats(struct float_range *range)
{
	range->min = _mm256_set1_ps(__builtin_inff());
	range->max = _mm256_set1_ps(-__builtin_inff());
	range->zeros = _mm256_setzero_si256();
}

INLINE void range_floats(struct float_range *range, __m256 x)
{
	__m256 zero = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ);

	range->min = _mm256_min_ps(x, range->min);
	range->max = _mm256_max_ps(x, range->max);
	range->zeros = _mm256_sub_epi32(range->zeros, _mm256_castps_si256(zero));
}

INLINE void end_floats(const struct float_range *range, struct hk_sums *sums)
{
	float min[8], max[8];
	uint32_t zeros[8];

	_mm256_storeu_ps(min, range->min);
	_mm256_storeu_ps(max, range->max);
	store(zeros, range->zeros);
	for (int i = 0; i < 8; i++) {
		hk_sums_widen_range(sums, (double)min[i], (double)max[i]);
		sums->zeros += zeros[i];
	}
}

/* Eight floats, for the lanes from 8 * PART. The product of a float with itself is exact in double:
 * adding it is rounded once, fused or not. */
INLINE void add_floats(struct summing *summing, int part, const float *from)
{
	for (int i = 2 * part; i < 2 * part + 2; i++, from += 4) {
		__m256d x = _mm256_cvtps_pd(_mm_loadu_ps(from));
		summing->sum[i] = _mm256_add_pd(summing->sum[i], x);
		summing->squares[i] = _mm256_fmadd_pd(x, x, summing->squares[i]);
	}
}

AVX2 static void take_f32(const void *from, size_t chunks, struct hk_sums *sums,
			  struct hk_digest_lanes *lanes)
{
	struct digesting digesting;
	struct summing summing;
	struct float_range range;
	size_t groups = chunks * (HK_CHUNK / sizeof(float) / HK_LANES);

	start_digest(&digesting, lanes, 0);
	start_sums(&summing, sums);
	start_floats(&range);
	for (const char *at = from; groups; groups--, at += HK_STRIPE) {
		_mm_prefetch(at + AHEAD, _MM_HINT_T0);
		add_digest(&digesting, at);
		for (int part = 0; part < 2; part++) {
			const float *half = (const float *)(at + HALF * part);
			range_floats(&range, _mm256_loadu_ps(half));
			add_floats(&summing, part, half);
		}
	}
	end_digest(&digesting, lanes);
	end_sums(&summing, sums);
	end_floats(&range, sums);
}

/* By way of memory: a load widens half a vector in one step, and half a register takes two. */
INLINE void add_halves(struct summing *summing, struct float_range *range, int part, __m256 x)
{
	float memory[8];
	const float *at = memory;

	range_floats(range, x);
	_mm256_storeu_ps(memory, x);
	__asm__("" : "+r"(at) : : "memory");
	add_floats(summing, part, at);
}

INLINE __m256 load_bf16(const char *from)
{
	__m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i_u *)from));

	return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
}

INLINE __m256 load_f16(const char *from)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)from));
}

#define TAKE_HALVES(name, widen)                                                      \
	AVX2 static void name(const void *from, size_t chunks, struct hk_sums *sums,  \
			      struct hk_digest_lanes *lanes)                          \
	{                                                                             \
		struct digesting digesting;                                           \
		struct summing summing;                                               \
		struct float_range range;                                             \
		size_t stripes = chunks * (HK_CHUNK / HK_STRIPE);                     \
                                                                                      \
		start_digest(&digesting, lanes, 0);                                   \
		start_sums(&summing, sums);                                           \
		start_floats(&range);                                                 \
		for (const char *at = from; stripes; stripes--, at += HK_STRIPE) {    \
			_mm_prefetch(at + AHEAD, _MM_HINT_T0);                        \
			add_digest(&digesting, at);                                   \
			add_halves(&summing, &range, 0, widen(at));                   \
			add_halves(&summing, &range, 1, widen(at + HALF / 2));        \
			add_halves(&summing, &range, 0, widen(at + HALF));            \
			add_halves(&summing, &range, 1, widen(at + HALF + HALF / 2)); \
		}                                                                     \
		end_digest(&digesting, lanes);                                        \
		end_sums(&summing, sums);                                             \
		end_floats(&range, sums);                                             \
	}

TAKE_HALVES(take_f16, load_f16)
TAKE_HALVES(take_bf16, load_bf16)

struct double_range {
	__m256d min, max;
	__m256i zeros;
};

INLINE void start_doubles(struct double_range *range)
{
	range->min = _mm256_set1_pd(__builtin_inf());
	range->max = _mm256_set1_pd(-__builtin_inf());
	range->zeros = _mm256_setzero_si256();
}

/* Sixteen doubles, four for each lane's vector. */
INLINE void add_doubles(struct summing *summing, struct double_range *range, const double *from)
{
	for (int i = 0; i < 4; i++, from += 4) {
		__m256d x = _mm256_loadu_pd(from);
		__m256d zero = _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ);
		range->min = _mm256_min_pd(x, range->min);
		range->max = _mm256_max_pd(x, range->max);
		range->zeros = _mm256_sub_epi64(range->zeros, _mm256_castpd_si256(zero));
		summing->sum[i] = _mm256_add_pd(summing->sum[i], x);
		summing->squares[i] = _mm256_add_pd(summing->squares[i], _mm256_mul_pd(x, x));
	}
}

INLINE void end_doubles(const struct double_range *range, struct hk_sums *sums)
{
	double min[4], max[4];
	uint64_t zeros[4];

	_mm256_storeu_pd(min, range->min);
	_mm256_storeu_pd(max, range->max);
	store(zeros, range->zeros);
	for (int i = 0; i < 4; i++) {
		hk_sums_widen_range(sums, min[i], max[i]);
		sums->zeros += zeros[i];
	}
}

AVX2 static void take_f64(const void *from, size_t chunks, struct hk_sums *sums,
			  struct hk_digest_lanes *lanes)
{
	struct digesting digesting;
	struct summing summing;
	struct double_range range;

	start_digest(&digesting, lanes, 0);
	start_sums(&summing, sums);
	start_doubles(&range);
	for (const char *at = from; chunks; chunks--, at += HK_CHUNK) {
		_mm_prefetch(at + AHEAD, _MM_HINT_T0);
		_mm_prefetch(at + AHEAD + HK_STRIPE, _MM_HINT_T0);
		add_digest(&digesting, at);
		add_digest(&digesting, at + HK_STRIPE);
		add_doubles(&summing, &range, (const double *)at);
	}
	end_digest(&digesting, lanes);
	end_sums(&summing, sums);
	end_doubles(&range, sums);
}

AVX2 static void sum_f64(const double *from, size_t groups, struct hk_sums *sums)
{
	struct summing summing;
	struct double_range range;

	start_sums(&summing, sums);
	start_doubles(&range);
	for (; groups; groups--, from += HK_LANES) {
		add_doubles(&summing, &range, from);
	}
	end_sums(&summing, sums);
	end_doubles(&range, sums);
}

AVX2 static void digest(const void *from, size_t first, size_t stripes,
			struct hk_digest_lanes *lanes)
{
	struct digesting digesting;

	start_digest(&digesting, lanes, first);
	for (const char *at = from; stripes; stripes--, at += HK_STRIPE) {
		_mm_prefetch(at + AHEAD, _MM_HINT_T0);
		add_digest(&digesting, at);
	}
	end_digest(&digesting, lanes);
}

const struct hk_kernels hk_kernels_avx2 = {
    .name = "AVX2",
    .usable = usable,
    .take_f16 = take_f16,
    .take_bf16 = take_bf16,
    .take_f32 = take_f32,
    .take_f64 = take_f64,
    .sum_f64 = sum_f64,
    .widening = &widening,
    .keep_finite = hk_keep_finite_plain,
    .digest = digest,
};

#endif
