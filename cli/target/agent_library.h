/* agent_library.h: finds libhookagent.so for LD_PRELOAD. No state, any thread. */
#ifndef HK_CLI_TARGET_AGENT_LIBRARY_H
#define HK_CLI_TARGET_AGENT_LIBRARY_H

#include <limits.h>

/* The error of commands that find no agent. */
#define HK_AGENT_LIBRARY_ABSENT                                           \
	"cannot find libhookagent.so: it is not beside hookcli (install " \
	"hookcli again, or name the file in HOOK_AGENT)"

/* Sets PATH to the absolute path of the agent: CHOSEN (setting `agent`) unless it is NULL or empty,
 * else the agent of this hookcli's build tree or installation. Returns 0, -ENOENT if there is none,
 * or -EINVAL if the path in PATH has a space or colon, at which LD_PRELOAD would cut it. */
int hk_agent_library_find(const char *chosen, char path[PATH_MAX]);

/* NVTX 3 has the library that the first of these names fill its tables; the agent passes calls on
 * to the library that the second one names. */
#define HK_NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define HK_NVTX_NEXT "HOOK_NVTX_NEXT"

/* Returns the library to which AGENT is to pass NVTX's calls on, from the environment: the one that
 * the user has NVTX load. NULL: there is none. */
const char *hk_nvtx_next(const char *agent);

/* NCCL's variable for its profiler plugin. */
#define HK_AGENT_NCCL_VARIABLE "NCCL_PROFILER_PLUGIN"

/* Returns AGENT, the path of the agent, as that variable's value, or NULL if NCCL would cut it. */
const char *hk_agent_nccl_plugin(const char *agent);

#endif
