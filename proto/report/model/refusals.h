/* refusals.h: why slots are not patched, as keys of the JSON contract and in words. */
#ifndef HK_REPORT_MODEL_REFUSALS_H
#define HK_REPORT_MODEL_REFUSALS_H

#include <stddef.h>

/* The key, and the words, of REASON (enum hk_refusal); NULL if this build does not know it. */
const char *hk_refusal_key(size_t reason);
const char *hk_refusal_words(size_t reason);

#endif
