/* find.h: what the loaded objects export, found without dlsym, which would change what dlerror
 * says.
 *
 * Takes the loader's lock. What it finds is the host's: it may be unloaded.
 */
#ifndef HK_AGENT_PATCH_FIND_H
#define HK_AGENT_PATCH_FIND_H

/* Address of exported function NAME in the loaded object whose path or base name matches LIBRARY
 * glob ("*": any, first in load order, the agent itself left out), without dlsym; NULL if none. */
void *hk_find_function(const char *library, const char *name);

/* Address of the first exported variable NAME in load order, which is the one everybody uses; NULL
 * if none. */
void *hk_find_variable(const char *name);

#endif
