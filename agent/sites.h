/* sites.h: sites that a program defines (hooktrace.h). */
#ifndef HK_AGENT_SITES_H
#define HK_AGENT_SITES_H

#include <stdint.h>

/* Sets the level of such sites to LEVEL (enum hk_level). Once, at start. */
void hk_sites_start(uint8_t level);

#endif
