/* agent_library.h: where libhookagent.so is: what LD_PRELOAD must name. No state, any thread. */
#ifndef HK_CLI_TARGET_AGENT_LIBRARY_H
#define HK_CLI_TARGET_AGENT_LIBRARY_H

#include <limits.h>

/* Absolute path of the agent: CHOSEN (setting `agent`) unless NULL or empty, else that of the build
 * tree or the installation that this hookcli is part of. 0; -ENOENT: there is none; -EINVAL: its
 * path, then in PATH, holds a space or colon, at which LD_PRELOAD would cut it. */
int hk_agent_library_find(const char *chosen, char path[PATH_MAX]);

#endif
