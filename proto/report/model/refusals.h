/* refusals.h: reasons why slots are not patched, as keys of the JSON contract and in words.
 * Constant data, any thread. */
#ifndef HK_REPORT_MODEL_REFUSALS_H
#define HK_REPORT_MODEL_REFUSALS_H

#include <stddef.h>

/* Return the key, or the words, of REASON (enum hk_refusal), or NULL if this build does not know
 * REASON. */
const char *hk_refusal_key(size_t reason);
const char *hk_refusal_words(size_t reason);

#endif
