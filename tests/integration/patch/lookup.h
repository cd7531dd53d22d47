/* lookup.h: libraries that look functions up by name. */
#ifndef HK_PATCH_LOOKUP_H
#define HK_PATCH_LOOKUP_H

#include "target.h"

/* asker.c, linked with the program or opened later: what its RTLD_DEFAULT and RTLD_NEXT give for
 * target_side, called COUNT times each; tens: RTLD_DEFAULT. */
long asker_sides(long count);
/* What it gets for NAME, a function of the program. */
void *asker_of(const char *name);
/* early.c: calls target_add through a pointer that its constructor looked up before any preloaded
 * library started. */
long early_run(long count);
/* interposer.c defines target_add and passes it on to the next definition, or to the one of its
 * name in libtarget.so. */
long interposer_calls(void);

#endif
