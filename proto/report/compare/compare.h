/* compare.h: compares two jobs function by function, with the uncertainty of each difference.
 *
 * A is the job before, B the job after. A change is B / A - 1. Its interval holds the true change
 * with 95 % confidence. Quantiles use order statistics of the merged histograms, each side at 97.5
 * %, so that both hold together. Means and totals use their standard errors. Exact figures (calls,
 * errors, bytes) have an interval without width.
 *
 * Calls of one rank are not independent. If both jobs have the same ranks, at least four, a paired
 * t interval of the logarithms of the ranks' changes therefore widens the interval. The interval
 * does not include how much two runs of one program differ. The reports must outlive the
 * comparison. Locked by the caller.
 */
#ifndef HK_REPORT_COMPARE_COMPARE_H
#define HK_REPORT_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/build/group.h"
#include "report/model/report.h"

struct hk_change {
	double ratio;	  /* NAN: not measured on one side; INFINITY: A is 0 */
	double low, high; /* interval of RATIO; NAN: unknown */
};

struct hk_compared {
	double a, b; /* ns, bytes or a count; NAN: not measured */
	struct hk_change change;
};

enum hk_compare_figure {
	HK_COMPARE_CALLS = 0,
	HK_COMPARE_ERRORS = 1,
	HK_COMPARE_BYTES = 2, /* the figures up to here are exact */
	HK_COMPARE_TOTAL = 3, /* this one and those below are in ns */
	HK_COMPARE_MEAN = 4,
	HK_COMPARE_P50 = 5,
	HK_COMPARE_P90 = 6,
	HK_COMPARE_P99 = 7,
	HK_COMPARE_FIGURES = 8,
};

struct hk_compare_row {
	const char *role, *domain, *function;
	bool in_a, in_b;
	struct hk_compared figure[HK_COMPARE_FIGURES];
};

/* The highest peak over the ranks, of one role, kind and device. */
struct hk_compare_memory {
	const char *role, *kind;
	int32_t device;
	struct hk_compared peak; /* bytes; the interval comes from peak_low and peak_high */
};

struct hk_compare {
	struct hk_compared wall;     /* ns; one sample per job, so there is no interval */
	struct hk_compare_row *rows; /* largest difference of total time first */
	size_t row_count;
	struct hk_compare_memory *memory; /* by role, kind and device */
	size_t memory_count;
};

/* Compares A with B. The caller frees the result with hk_compare_fini. Returns 0 or -ENOMEM. */
int hk_compare_init(struct hk_compare *compare, const struct hk_report *a,
		    const struct hk_report *b);
void hk_compare_fini(struct hk_compare *compare);

/* Whether the interval is known and excludes 0, no change. */
bool hk_change_significant(const struct hk_change *change);

/* Returns the 0.975 quantile of Student's t with DEGREES of freedom, which must be at least 3. */
double hk_compare_student(size_t degrees);

#endif
