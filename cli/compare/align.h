/* align.h: the longest common subsequence of two sequences of tokens (Myers, in linear space).
 * Pure.
 */
#ifndef HK_CLI_COMPARE_ALIGN_H
#define HK_CLI_COMPARE_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#define HK_ALIGN_NONE UINT32_MAX

/* Sets twins[i] to the token of B that token i of A is paired with, or HK_ALIGN_NONE. Twins ascend.
 * Parts that differ in thousands of tokens stay unpaired: the work is bounded. Returns 0 or
 * -ENOMEM.
 */
int hk_align(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count, uint32_t *twins);

#endif
