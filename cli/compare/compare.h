/* compare.h: compares two dumps: ranks, rows, numbers, the first divergence. Main thread only. */
#ifndef HK_CLI_COMPARE_COMPARE_H
#define HK_CLI_COMPARE_COMPARE_H

#include "cli/compare/comparison.h"
#include "cli/compare/mapping.h"

struct hk_compare_options {
	const char *a, *b; /* paths */
	const struct hk_mapping *mapping;
	const struct hk_span_ranks *ranks; /* 0 spans: all */
	size_t span_count;
	bool steps_in_order; /* k-th step with k-th step, whatever their numbers */
	enum hk_dtype least; /* a dtype that was computed with, or NONE, and what the allowed */
	double factor;	     /* difference is multiplied by: see tolerance.h */
	/* Called with rows done of all, sometimes. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
	/* Called for each SENTENCE about what could not be compared: a rank of one side only. */
	void (*warn)(void *context, const char *sentence);
};

/* Fills COMPARISON. Returns 0, or -errno with REASON: then COMPARISON is empty. */
int hk_compare_dumps(struct hk_comparison *comparison, const struct hk_compare_options *options,
		     char reason[HK_SOURCE_REASON_BYTES]);
void hk_comparison_fini(struct hk_comparison *comparison);

#endif
