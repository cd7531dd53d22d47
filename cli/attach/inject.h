/* inject.h: starts and stops the agent in a process that runs already. Main thread only.
 *
 * Waits for a moment at which a thread of the process may load a library, for a limited time.
 */
#ifndef HK_CLI_ATTACH_INJECT_H
#define HK_CLI_ATTACH_INJECT_H

#include "cli/attach/target.h"

/* Loads the file AGENT, as TARGET sees it, unless the agent is loaded already, and starts it with
 * SETTINGS: "HOOK_X=value" texts, the last of them NULL. Returns 0, 1 if it traces TARGET already,
 * or -errno with the reason in WHY: the process runs on as before. */
int hk_inject_start(struct hk_target *target, const char *agent, const char *const *settings,
		    char why[HK_ATTACH_WHY_BYTES]);

/* Ends tracing of TARGET, in which the agent is loaded. Returns 0, 1 if it was not traced, or
 * -errno with the reason in WHY. */
int hk_inject_stop(struct hk_target *target, char why[HK_ATTACH_WHY_BYTES]);

/* Returns whether the agent of TARGET traces it now. */
bool hk_inject_is_traced(const struct hk_target *target);

#endif
