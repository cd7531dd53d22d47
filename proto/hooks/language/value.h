/* value.h: the expressions after `key=`, as in `bytes=isroot(root,comm)*count*sizeof(type)`. An
 * expression is a product of at most HK_HOOK_FACTORS factors. The parser puts `sent` and `isroot`
 * first. The reader of a hook stops at a factor of 0: arguments that are valid on one rank only
 * need `isroot`, and those that MPI_IN_PLACE voids need `sent`. */
#ifndef HK_HOOKS_LANGUAGE_VALUE_H
#define HK_HOOKS_LANGUAGE_VALUE_H

#include "hooks/language/draft.h"

/* Reads one expression and appends it to the draft's values under `key`. -EINVAL: the scan says
 * why. */
int hk_value_parse(struct hk_scan *scan, struct hk_draft *draft, uint8_t key);

#endif
