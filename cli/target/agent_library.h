/* agent_library.h: finds libhookagent.so for LD_PRELOAD. No state, any thread. */
#ifndef HK_CLI_TARGET_AGENT_LIBRARY_H
#define HK_CLI_TARGET_AGENT_LIBRARY_H

#include <limits.h>

/* Sets PATH to the absolute path of the agent: CHOSEN (setting `agent`) unless it is NULL or empty,
 * else the agent of this hookcli's build tree or installation. Returns 0, -ENOENT if there is none,
 * or -EINVAL if the path in PATH has a space or colon, at which LD_PRELOAD would cut it. */
int hk_agent_library_find(const char *chosen, char path[PATH_MAX]);

/* NCCL's variable for its profiler plugin. */
#define HK_AGENT_NCCL_VARIABLE "NCCL_PROFILER_PLUGIN"

/* Returns AGENT, the path of the agent, as that variable's value, or NULL if NCCL would cut it. */
const char *hk_agent_nccl_plugin(const char *agent);

#endif
