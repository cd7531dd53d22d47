#include "tensor/pairs.h"

#include "tensor/real.h"

static uint64_t distance_of(struct hk_rounding rounding, double a, double b)
{
	int64_t of_a = hk_rounding_number(rounding, a), of_b = hk_rounding_number(rounding, b);

	return of_a > of_b ? (uint64_t)of_a - (uint64_t)of_b : (uint64_t)of_b - (uint64_t)of_a;
}

static void add_relative(struct hk_pair_sums *sums, unsigned lane, double apart, double b)
{
	double relative = apart / hk_absolute(b);

	sums->relatives++;
	sums->relative[lane] += relative;
	sums->within_1000 += relative < 1.0 / 1000;
	sums->within_5000 += relative < 5.0 / 1000;
	sums->max_rel = relative > sums->max_rel ? relative : sums->max_rel;
}

void hk_pairs_add_plain(const double *a, const double *b, size_t count, struct hk_rounding rounding,
			struct hk_pair_sums *sums, uint64_t *distances)
{
	for (size_t i = 0; i < count; i++) {
		unsigned lane = i % HK_PAIR_LANES;
		double apart = hk_absolute(a[i] - b[i]);
		sums->equal += apart == 0;
		sums->dot[lane] += a[i] * b[i];
		sums->squares_a[lane] += a[i] * a[i];
		sums->squares_b[lane] += b[i] * b[i];
		sums->squares[lane] += apart * apart;
		sums->max_abs = apart > sums->max_abs ? apart : sums->max_abs;
		if (b[i] != 0) {
			add_relative(sums, lane, apart, b[i]);
		} else {
			sums->within_1000 += apart == 0;
			sums->within_5000 += apart == 0;
		}
		distances[i] = distance_of(rounding, a[i], b[i]);
	}
}
