/* flow.h: which row saw a tensor's memory last, by the identity of its storage. Pure. */
#ifndef HK_CLI_COMPARE_FLOW_H
#define HK_CLI_COMPARE_FLOW_H

#include "cli/compare/source.h"

#define HK_FLOW_NONE UINT32_MAX

/* Returns an array with, for each row of VALUES, the latest row before it whose elements lie in the
 * same storage and may overlap, or HK_FLOW_NONE. The caller frees it. NULL without memory. */
uint32_t *hk_flow_sources(const struct hk_values *values);

#endif
