/* dl.h: wrappers of our own: dlopen, dlmopen, dlclose, dlsym and dlvsym; _exit and _Exit.
 *
 * The loader looks at who calls them, so all but a harmless dlopen end in a jump to the original,
 * with the caller's own return address. They exist to notice new objects; results and the state of
 * dlerror stay as they are. _exit runs no handler of ours, so its status is noted here. One
 * original per function serves all slots.
 */
#ifndef HK_AGENT_PATCH_DL_H
#define HK_AGENT_PATCH_DL_H

#define HK_DL_COUNT 7

/* Number of the wrapper for FUNCTION, or -1. */
int hk_dl_index(const char *function);

/* Address that goes into the slots of wrapper INDEX. */
void *hk_dl_wrapper(int index);

/* Makes ORIGINAL what wrapper INDEX calls. -EEXIST: it already calls another function. */
int hk_dl_adopt(int index, void *original);

#endif
