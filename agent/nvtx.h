/* nvtx.h: ranges and marks of programs that use NVTX 3.
 *
 * NVTX 3 is a header: its functions call through tables of pointers, which it has a library fill
 * that NVTX_INJECTION64_PATH names: the agent, whose InitializeInjectionNvtx2 it calls. A range is
 * then a range of domain "user", as by hk_range_push, and a mark a mark. The names of domains but
 * the default one stand before those of their ranges. Another injection library, named by
 * HOOK_NVTX_NEXT, is given every call too.
 */
#ifndef HK_AGENT_NVTX_H
#define HK_AGENT_NVTX_H

/* Reads the settings from ENVIRONMENT, which lives as long as the process. */
void hk_nvtx_start(char *const *environment);

#endif
