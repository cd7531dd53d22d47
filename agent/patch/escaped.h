/* escaped.h: names of functions that a hook wants and whose address was handed out without a thunk.
 *
 * Any thread, no lock.
 */
#ifndef HK_AGENT_PATCH_ESCAPED_H
#define HK_AGENT_PATCH_ESCAPED_H

#include <stdbool.h>
#include <stdint.h>

/* Adds FUNCTION, and returns whether it is new. After the first 256 names, each further name counts
 * as new every time. */
bool hk_escaped_add(const char *function);

/* How many there are. */
uint32_t hk_escaped_count(void);

#endif
