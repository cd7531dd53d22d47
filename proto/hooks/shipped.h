/* shipped.h: the hooks files that come with hooktrace, compiled into constant tables at build time.
 *
 * Written by agent/hooks/compile.c from agent/hooks/<name>.hooks; link hk_hooks_shipped. Constant
 * data, any thread.
 */
#ifndef HK_HOOKS_SHIPPED_H
#define HK_HOOKS_SHIPPED_H

#include "hooks/hook.h"

/* One entry per file, named without its ending: "libc", "mpi", "blas", "cuda", "nccl", and "deny",
 * whose lines always hold. */
extern const struct hk_hook_file hk_shipped_hooks[];
extern const unsigned hk_shipped_hook_count;

#endif
