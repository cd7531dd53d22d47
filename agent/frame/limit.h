/* limit.h: how many stacks a site keeps at level record+stack.
 *
 * A site with a limit of N stacks a second keeps up to N at once, and N a second after that. All
 * threads of the process share the site's limit, without a lock, and a forked child begins with
 * what its parent left of it. General registers only.
 */
#ifndef HK_AGENT_FRAME_LIMIT_H
#define HK_AGENT_FRAME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the limit of SITE to RATE stacks a second; 0: no limit. Under the process lock. */
void hk_limit_set(uint32_t site, uint32_t rate);

/* Returns whether a call of SITE that began at TICKS may keep its stack, and counts it. */
bool hk_limit_take(uint32_t site, uint64_t ticks);

#endif
