/* left.h: addresses that stay unchanged in slots, because the host may compare them.
 *
 * Under the loader's lock. Memory is the arena's.
 */
#ifndef HK_AGENT_PATCH_LEFT_H
#define HK_AGENT_PATCH_LEFT_H

#include <stdbool.h>

#include "agent/object/object.h"

/* A slot that holds ADDRESS was left as it is. */
void hk_left_add(const void *address);

/* Whether one was. */
bool hk_left_has(const void *address);

/* No address within SPAN is any more. */
void hk_left_forget(struct hk_span span);

#endif
