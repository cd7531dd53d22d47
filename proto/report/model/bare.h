/* bare.h: why a program runs without the agent, in words and as JSON has it. */
#ifndef HK_REPORT_MODEL_BARE_H
#define HK_REPORT_MODEL_BARE_H

#include <stdint.h>

/* The key of REASON, an enum hk_bare_reason of ring/segment.h; "other" for one of a later version.
 */
const char *hk_bare_key(uint32_t reason);

/* What is said of the program, after its name. */
const char *hk_bare_words(uint32_t reason);

/* What to do about it; empty: nothing. */
const char *hk_bare_fix(uint32_t reason);

#endif
