/* sites.h: sites that a program defines (hooktrace.h). */
#ifndef HK_AGENT_SITES_H
#define HK_AGENT_SITES_H

#include <stdint.h>

struct hk_hookset;

/* HOOKSET, which stays, has the levels of such sites. Once, at start. */
void hk_sites_start(const struct hk_hookset *hookset);

/* Returns the level of the site of FUNCTION in LIBRARY, and whether it is pinned. */
uint8_t hk_sites_level(const char *function, const char *library, uint8_t *ret_pinned);

#endif
