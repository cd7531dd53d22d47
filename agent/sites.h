/* sites.h: sites that a program defines (hooktrace.h). */
#ifndef HK_AGENT_SITES_H
#define HK_AGENT_SITES_H

struct hk_hookset;

/* HOOKSET, which stays, has the levels of such sites. Once, at start. */
void hk_sites_start(const struct hk_hookset *hookset);

#endif
