/* nccl_profiler.h: the agent as a profiler plugin of NCCL and RCCL.
 *
 * NCCL opens the library that NCCL_PROFILER_PLUGIN names, which is the agent's path, and takes the
 * newest of the tables ncclProfiler_v1 to _v6 that it knows. No function of them fails: what cannot
 * be kept is counted. HOOK_NCCL_EVENTS chooses what NCCL reports.
 */
#ifndef HK_AGENT_NCCL_PROFILER_H
#define HK_AGENT_NCCL_PROFILER_H

/* Reads HOOK_NCCL_EVENTS of ENVIRONMENT. Once, at start. NCCL is asked for events only if HOOKS,
 * the text of HOOK_HOOKS, names its hooks. */
void hk_nccl_profiler_start(char *const *environment, const char *hooks);

#endif
