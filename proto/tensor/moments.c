#include "tensor/moments.h"

void hk_sums_start(struct hk_sums *sums)
{
	*sums = (struct hk_sums){.min = __builtin_inf(), .max = -__builtin_inf()};
}

void hk_sums_add_rest(struct hk_sums *sums, const double *rest, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		sums->sum[i % HK_LANES] += rest[i];
		sums->squares[i % HK_LANES] += rest[i] * rest[i];
		hk_sums_widen_range(sums, rest[i], rest[i]);
		sums->zeros += rest[i] == 0;
	}
}

double hk_sums_total(const double lanes[HK_LANES])
{
	double half[HK_LANES / 2];

	for (int i = 0; i < HK_LANES / 2; i++) {
		half[i] = lanes[i] + lanes[i + HK_LANES / 2];
	}
	for (int width = HK_LANES / 4; width; width /= 2) {
		for (int i = 0; i < width; i++) {
			half[i] += half[i + width];
		}
	}
	return half[0];
}

/* Adds X to SUM and the rounding error of this addition to LOW. */
static void add_exactly(double *sum, double *low, double x)
{
	double total = *sum + x, of_x = total - *sum;

	*low += (*sum - (total - of_x)) + (x - of_x);
	*sum = total;
}

void hk_moments_start(struct hk_moments *moments)
{
	*moments = (struct hk_moments){0};
}

double hk_moments_mean(const struct hk_moments *moments)
{
	return (moments->sum + moments->sum_low) / moments->count;
}

double hk_moments_squares(const struct hk_moments *moments)
{
	return moments->squares + moments->squares_low;
}

/* Chan's formula for the differences from the mean of both. */
void hk_moments_add(struct hk_moments *moments, const struct hk_block_moments *block)
{
	if (block->count == 0) {
		return;
	}
	double count = moments->count + block->count;
	if (moments->count > 0) {
		double between = block->sum / block->count - hk_moments_mean(moments);
		moments->apart += between * between * (moments->count / count * block->count);
	}
	moments->apart += block->apart;
	moments->count = count;
	add_exactly(&moments->sum, &moments->sum_low, block->sum);
	add_exactly(&moments->squares, &moments->squares_low, block->squares);
}
