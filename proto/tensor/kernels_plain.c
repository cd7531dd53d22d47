#include "tensor/half.h"
#include "tensor/kernels.h"

static bool usable(void)
{
	return true;
}

/* Elements of a group are taken lane by lane, so that a compiler makes vectors of them. */
#define SUM(name, type)                                                                      \
	static void name(const void *from, size_t groups, struct hk_sums *sums)              \
	{                                                                                    \
		type min[HK_LANES], max[HK_LANES], x[HK_LANES];                              \
		uint64_t zeros[HK_LANES] = {0};                                              \
		const char *at = from;                                                       \
                                                                                             \
		for (int i = 0; i < HK_LANES; i++) {                                         \
			min[i] = (type)__builtin_inf();                                      \
			max[i] = -(type)__builtin_inf();                                     \
		}                                                                            \
		for (; groups; groups--, at += sizeof(x)) {                                  \
			memcpy(x, at, sizeof(x));                                            \
			for (int i = 0; i < HK_LANES; i++) {                                 \
				min[i] = x[i] < min[i] ? x[i] : min[i];                      \
				max[i] = x[i] > max[i] ? x[i] : max[i];                      \
				zeros[i] += x[i] == 0;                                       \
				sums->sum[i] += (double)x[i];                                \
				sums->squares[i] += (double)x[i] * (double)x[i];             \
			}                                                                    \
		}                                                                            \
		for (int i = 0; i < HK_LANES; i++) {                                         \
			sums->min = (double)min[i] < sums->min ? (double)min[i] : sums->min; \
			sums->max = (double)max[i] > sums->max ? (double)max[i] : sums->max; \
			sums->zeros += zeros[i];                                             \
		}                                                                            \
	}

SUM(sum_f32, float)
SUM(sum_f64, double)

#define WIDEN(name, convert)                                                       \
	static void name(const void *from, size_t count, float *to)                \
	{                                                                          \
		for (size_t i = 0; i < count; i++) {                               \
			uint16_t x;                                                \
			memcpy(&x, (const char *)from + i * sizeof(x), sizeof(x)); \
			to[i] = convert(x);                                        \
		}                                                                  \
	}

WIDEN(widen_f16, hk_float_of_f16)
WIDEN(widen_bf16, hk_float_of_bf16)

static void digest(const void *from, size_t first, size_t count, struct hk_digest_lanes *lanes)
{
	const char *at = from;

	for (size_t stripe = first; stripe < first + count; stripe++, at += HK_STRIPE) {
		uint64_t words[HK_DIGEST_LANES];
		memcpy(words, at, sizeof(words));
		for (int i = 0; i < HK_DIGEST_LANES; i++) {
			uint64_t x = words[i] ^ (hk_digest_keys[i] + stripe * HK_DIGEST_STEP);
			lanes->product[i] += (x & UINT32_MAX) * (x >> 32);
			lanes->plain[i] += words[i];
		}
	}
}

const struct hk_kernels hk_kernels_plain = {
    .name = "plain",
    .usable = usable,
    .sum_f32 = sum_f32,
    .sum_f64 = sum_f64,
    .widen_f16 = widen_f16,
    .widen_bf16 = widen_bf16,
    .digest = digest,
};
