/* value.h: the expressions after `key=`, as in `bytes=isroot(root,comm)*count*sizeof(type)`.
 *
 * An expression is a product of at most HK_HOOK_FACTORS factors. The reader of a hook multiplies
 * from left to right and stops at a factor of 0, so what is valid on one rank only stands behind
 * `isroot`, and what MPI_IN_PLACE makes meaningless stands behind `sent`.
 */
#ifndef HK_HOOKS_LANGUAGE_VALUE_H
#define HK_HOOKS_LANGUAGE_VALUE_H

#include "hooks/language/draft.h"

/* Reads one expression and appends it to the draft's values under `key`. -EINVAL: the scan says
 * why. */
int hk_value_parse(struct hk_scan *scan, struct hk_draft *draft, uint8_t key);

#endif
