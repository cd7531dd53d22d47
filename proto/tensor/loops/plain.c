#include "tensor/loops/kernels.h"

#define LOOPS_TARGET
#include "tensor/loops/widen.h"

static bool usable(void)
{
	return true;
}

static void digest(const void *from, size_t first, size_t stripes, struct hk_digest_lanes *lanes)
{
	const char *at = from;

	for (size_t stripe = first; stripe < first + stripes; stripe++, at += HK_STRIPE) {
		uint64_t words[HK_DIGEST_LANES];
		memcpy(words, at, sizeof(words));
		for (int i = 0; i < HK_DIGEST_LANES; i++) {
			uint64_t x = words[i] ^ (hk_digest_keys[i] + stripe * HK_DIGEST_STEP);
			lanes->product[i] += (x & UINT32_MAX) * (x >> 32);
			lanes->plain[i] += words[i];
		}
	}
}

/* Elements of a group are taken lane by lane, so that a compiler makes vectors of them. READ makes
 * HK_LANES numbers of type REAL from the bytes AT. */
#define SUM(name, real, bytes, read)                                               \
	static void name(const void *from, size_t groups, struct hk_sums *sums)    \
	{                                                                          \
		real min[HK_LANES], max[HK_LANES], x[HK_LANES];                    \
		double sum[HK_LANES], squares[HK_LANES];                           \
		uint32_t zeros[HK_LANES] = {0};                                    \
		const char *at = from;                                             \
                                                                                   \
		memcpy(sum, sums->sum, sizeof(sum));                               \
		memcpy(squares, sums->squares, sizeof(squares));                   \
		for (int i = 0; i < HK_LANES; i++) {                               \
			min[i] = (real)__builtin_inf();                            \
			max[i] = -(real)__builtin_inf();                           \
		}                                                                  \
		for (; groups; groups--, at += HK_LANES * (bytes)) {               \
			read(at, x);                                               \
			for (int i = 0; i < HK_LANES; i++) {                       \
				min[i] = x[i] < min[i] ? x[i] : min[i];            \
				max[i] = x[i] > max[i] ? x[i] : max[i];            \
				zeros[i] += x[i] == 0;                             \
				sum[i] += (double)x[i];                            \
				squares[i] += (double)x[i] * (double)x[i];         \
			}                                                          \
		}                                                                  \
		memcpy(sums->sum, sum, sizeof(sum));                               \
		memcpy(sums->squares, squares, sizeof(squares));                   \
		for (int i = 0; i < HK_LANES; i++) {                               \
			hk_sums_widen_range(sums, (double)min[i], (double)max[i]); \
			sums->zeros += zeros[i];                                   \
		}                                                                  \
	}

static void read_f16(const char *from, float *to)
{
	uint16_t x[HK_LANES];

	memcpy(x, from, sizeof(x));
	for (int i = 0; i < HK_LANES; i++) {
		to[i] = hk_float_of_f16(x[i]);
	}
}

static void read_bf16(const char *from, float *to)
{
	uint16_t x[HK_LANES];

	memcpy(x, from, sizeof(x));
	for (int i = 0; i < HK_LANES; i++) {
		to[i] = hk_float_of_bf16(x[i]);
	}
}

static void read_f32(const char *from, float *to)
{
	memcpy(to, from, HK_LANES * sizeof(*to));
}

static void read_f64(const char *from, double *to)
{
	memcpy(to, from, HK_LANES * sizeof(*to));
}

SUM(sum_f16, float, sizeof(uint16_t), read_f16)
SUM(sum_bf16, float, sizeof(uint16_t), read_bf16)
SUM(sum_f32, float, sizeof(float), read_f32)
SUM(sum_any_f64, double, sizeof(double), read_f64)

#define TAKE(name, sum, bytes)                                                  \
	static void name(const void *from, size_t chunks, struct hk_sums *sums, \
			 struct hk_digest_lanes *lanes)                         \
	{                                                                       \
		digest(from, 0, chunks *(HK_CHUNK / HK_STRIPE), lanes);         \
		sum(from, chunks *(HK_CHUNK / HK_LANES / (bytes)), sums);       \
	}

TAKE(take_f16, sum_f16, sizeof(uint16_t))
TAKE(take_bf16, sum_bf16, sizeof(uint16_t))
TAKE(take_f32, sum_f32, sizeof(float))
TAKE(take_f64, sum_any_f64, sizeof(double))

static void sum_f64(const double *from, size_t groups, struct hk_sums *sums)
{
	sum_any_f64(from, groups, sums);
}

size_t hk_keep_finite_plain(double *x, size_t count, struct hk_specials *specials)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		double value = x[i];
		specials->nans += value != value;
		specials->positive_infs += value == __builtin_inf();
		specials->negative_infs += value == -__builtin_inf();
		x[kept] = value;
		kept += value - value == 0;
	}
	return kept;
}

const struct hk_kernels hk_kernels_plain = {
    .name = "plain",
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
