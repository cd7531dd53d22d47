/* options.h: what is compared, and how. Plain values. */
#ifndef HK_CLI_COMPARE_OPTIONS_H
#define HK_CLI_COMPARE_OPTIONS_H

#include "cli/compare/mapping.h"
#include "tensor/dtype.h"

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

#endif
