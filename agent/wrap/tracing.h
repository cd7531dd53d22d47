/* tracing.h: the host's calls of the tracing libraries of devices, CUPTI and MSPTI: another tool
 * wants to use them, so the agent steps aside (device/share.h). */
#ifndef HK_AGENT_WRAP_TRACING_H
#define HK_AGENT_WRAP_TRACING_H

/* Sets their hk_wrapped_addresses, so that they are wrapped. Once, before the first scan. */
void hk_tracing_start(void);

#endif
