/* place.h: files that a process of another root directory has to see. Main thread only. */
#ifndef HK_CLI_ATTACH_PLACE_H
#define HK_CLI_ATTACH_PLACE_H

#include <limits.h>

#include "cli/attach/target.h"

/* Sets PATH to the path of AGENT, the agent's file, as TARGET sees it: AGENT itself, or a copy in
 * RUN_DIRECTORY. Returns 0, or -errno with the reason in WHY if TARGET sees neither. */
int hk_place_agent(const struct hk_target *target, const char *agent, const char *run_directory,
		   char path[PATH_MAX], char why[HK_ATTACH_WHY_BYTES]);

#endif
