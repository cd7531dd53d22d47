/* headline.h: the first divergence as sentences. */
#ifndef HK_CLI_COMPARE_HEADLINE_H
#define HK_CLI_COMPARE_HEADLINE_H

#include "cli/compare/comparison.h"

#define HK_HEADLINE_BYTES 2048

/* "layers.3.attn.Linear.forward #41, rank 2, step 3: inputs agree (cos 1.000000), output 0 does not
 * (cos 0.9713, max abs 0.41 at [5,17])", without "first wrong: ". "" if there is no divergence. */
const char *hk_headline(char text[HK_HEADLINE_BYTES], const struct hk_comparison *comparison);

/* The stack of the first divergence in A, innermost frame first, until elements or stacks of that
 * rank are read. Returns the number of frames. */
uint32_t hk_headline_stack(const struct hk_comparison *comparison, const char *const **ret_frames);

#endif
