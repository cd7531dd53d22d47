/* beside.h: files that belong to this program, found from where its own file is. For collector and
 * cli; the agent never uses it. */
#ifndef HK_BASE_BESIDE_H
#define HK_BASE_BESIDE_H

#include <limits.h>
#include <stddef.h>

/* The first of COUNT PLACES, relative to the directory of this program, that access(2) grants for
 * MODE (R_OK or X_OK). 0; -ENOENT: none. */
int hk_beside(const char *const *places, size_t count, int mode, char ret_path[PATH_MAX]);

#endif
