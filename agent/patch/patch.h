/* patch.h: finds the slots of every loaded object that a hook wants, and puts thunks into them.
 *
 * Scanning and patching run inside the dl_iterate_phdr callback, which serialises them with dlopen,
 * dlclose and other patchers. They allocate from the arena only, and call neither stdio nor dl*
 * functions.
 */
#ifndef HK_AGENT_PATCH_PATCH_H
#define HK_AGENT_PATCH_PATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/hooks/hookset.h"
#include "agent/object/object.h"

struct hk_redirect_request;

/* Keeps a reference to SET and makes the first scan. Scans call UNLOADED with the addresses of each
 * unloaded object. LATE: the program runs already. */
void hk_patch_start(const struct hk_hookset *set, void (*unloaded)(struct hk_span span), bool late);

/* Calls BETWEEN, ends all scans, and gives all slots back what they would hold without the agent.
 * Returns false, with nothing done, if the loader's lock is busy or BETWEEN returns false. */
bool hk_patch_stop(bool (*between)(void));

/* Patches all objects again, with the hooks of SET. Returns false, with nothing done, if the
 * loader's lock is busy. */
bool hk_patch_resume(const struct hk_hookset *set);

/* Returns true after hk_patch_stop, until hk_patch_resume. */
bool hk_patch_is_stopped(void);

/* Scans again if objects were loaded or unloaded since the last scan, or if some were not relocated
 * then. Takes tens of ns if nothing changed. The counts go to hk_process_cover. For calls of the
 * loader's own functions: waits a little while other threads read the loader's list. */
void hk_patch_rescan(void);

/* The same from within hk_loader_iterate. */
void hk_patch_refresh(struct dl_phdr_info *info);

/* The same from any call that is not inside the agent: never waits. If the lock of the list is
 * busy, or a signal stack has less than 8 KiB left, the next look or scan does it. */
void hk_patch_refresh_late(void);

/* The hooks in force; NULL before hk_patch_start. */
const struct hk_hookset *hk_patch_hookset(void);

/* Returns the number of objects at the head of the load order that came with the program. */
size_t hk_patch_initial(void);

/* Counts, once for each name, that the address of FUNCTION, which a hook wants, was handed out
 * without a thunk. Published at once if the loader's lock is free, else by the next scan. */
void hk_patch_escaped(const char *function);

/* Redirects calls as REQUEST (redirect.h) says, in all objects that are loaded, and from
 * now on in those that will be. Within hk_loader_iterate, after hk_patch_refresh. Returns the
 * number of slots that lead to a replacement now, or -1 without memory. */
int hk_patch_redirect(const struct hk_redirect_request *request);

/* Makes the next scan check lazy slots even if no object was loaded or unloaded: the loader may
 * have overwritten some. */
void hk_patch_revisit(void);

#endif
