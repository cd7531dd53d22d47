/* domain.h: the directive `domain`: a group of functions, and how views show it. */
#ifndef HK_HOOKS_LANGUAGE_DOMAIN_H
#define HK_HOOKS_LANGUAGE_DOMAIN_H

#include "hooks/hook.h"
#include "hooks/language/arena.h"
#include "hooks/language/scan.h"

/* Reads `WORD [title=TEXT] [order=N] [colour=RRGGBB/RRGGBB] [idle]`; texts are copied to ARENA.
 * Returns 0; -EINVAL: SCAN says why; -ENOSPC: the arena is full. */
int hk_domain_parse(struct hk_scan *scan, struct hk_hook_arena *arena,
		    struct hk_domain *ret_domain);

#endif
