/* draft_parse.h: reads the parts of one line of a hooks file into a draft. */
#ifndef HK_HOOKS_LANGUAGE_DRAFT_PARSE_H
#define HK_HOOKS_LANGUAGE_DRAFT_PARSE_H

#include "hooks/language/draft.h"

/* Reads `TYPE SYMBOL(TYPE NAME, ...)`. -EINVAL: the scan says why. */
int hk_draft_signature(struct hk_scan *scan, struct hk_draft *draft);

/* Reads the attributes up to the end of the line. -EINVAL: the scan says why. */
int hk_draft_attributes(struct hk_scan *scan, struct hk_draft *draft);

/* Whether the attributes fit the signature and each other; sets the flags that follow from the
 * meaning. -EINVAL as above. */
int hk_draft_check(struct hk_scan *scan, struct hk_draft *draft);

#endif
