/* sample.h: the elements that a tool kept of a large tensor. Pure. */
#ifndef HK_CLI_COMPARE_SAMPLE_H
#define HK_CLI_COMPARE_SAMPLE_H

#include "cli/compare/source.h"

/* How many of COUNT elements a sample has. */
uint64_t hk_sample_count(const struct hk_sampling *sampling, uint64_t count);

/* Copies the sample of COUNT elements of SIZE bytes to SAMPLE, which has room for it. */
void hk_sample_take(const struct hk_sampling *sampling, const void *elements, uint64_t count,
		    size_t size, void *sample);

#endif
