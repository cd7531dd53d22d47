/* compare.h: two jobs side by side, function by function, and how sure each difference is.
 *
 * A is the job before, B the one after; a change is B / A - 1. Its interval holds the true change
 * with 95 % confidence: quantiles by order statistics of the merged histograms (each side at
 * 97.5 %, so that both hold together), means and totals by their standard errors; widened, where
 * both jobs have the same ranks, at least four, by how differently these changed (a paired t
 * interval of the logarithms), because calls of one rank are not independent. It says nothing of
 * how much two runs of one program differ by themselves. Exact figures (calls, errors, bytes) have
 * an interval of no width. The reports must outlive the comparison. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_COMPARE_H
#define HK_REPORT_BUILD_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/build/group.h"
#include "report/model/report.h"

struct hk_change {
	double ratio;	  /* NAN: one side has no such figure; INFINITY: there was nothing before */
	double low, high; /* NAN: nothing is known of how sure RATIO is */
};

struct hk_compared {
	double a, b; /* ns, bytes or a count; NAN: not measured */
	struct hk_change change;
};

enum hk_compare_figure {
	HK_COMPARE_CALLS = 0,
	HK_COMPARE_ERRORS = 1,
	HK_COMPARE_BYTES = 2, /* exact up to here */
	HK_COMPARE_TOTAL = 3, /* ns, as the following */
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

/* The peak of the rank that had the highest. */
struct hk_compare_memory {
	const char *role, *kind;
	int32_t device;
	struct hk_compared peak; /* bytes; its interval is that of peaks which are ranges */
};

struct hk_compare {
	struct hk_compared wall;     /* ns; one sample each, so without an interval */
	struct hk_compare_row *rows; /* the largest difference of total time first */
	size_t row_count;
	struct hk_compare_memory *memory; /* by role, kind and device */
	size_t memory_count;
};

/* Compares; free with hk_compare_fini. -ENOMEM. */
int hk_compare_init(struct hk_compare *compare, const struct hk_report *a,
		    const struct hk_report *b);
void hk_compare_fini(struct hk_compare *compare);

/* "calls", "total", ...: static. */
const char *hk_compare_name(enum hk_compare_figure figure);

/* Whether the interval is known and leaves "no change" out. */
bool hk_change_significant(const struct hk_change *change);

/* The 1 - (1 - 0.95) / 2 quantile of Student's t with DEGREES of freedom, at least 3. */
double hk_compare_student(size_t degrees);

#endif
