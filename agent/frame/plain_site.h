/* plain_site.h: sites without a thunk: functions of languages and frameworks, names of annotations.
 *
 * They have the statistics, levels and records of hooked functions. Each is one function of one
 * library under one hook; it lives as long as the process. Any thread; safe in signal handlers.
 */
#ifndef HK_AGENT_FRAME_PLAIN_SITE_H
#define HK_AGENT_FRAME_PLAIN_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/frame/site_table.h"

#define HK_PLAIN_NONE (~0u)

/* A text, of which BYTES count. */
struct hk_plain_text {
	const char *start;
	size_t bytes;
};

struct hk_plain_request {
	const struct hk_hook *hook; /* lives as long as the process */
	struct hk_plain_text function, library;
	const char *provider; /* the same; NULL: the library */
	uint8_t level;	      /* enum hk_level without rules; never DEFAULT */
	uint8_t pinned;	      /* the user gave the level */
};

/* Returns the index of the site for REQUEST, the same for equal ones, or HK_PLAIN_NONE if it does
 * not exist and there is no room for it, or no call of the kernel may be made for it. */
uint32_t hk_plain_site_define(const struct hk_plain_request *request);

/* The same inside of the agent, with signals blocked and without the process lock. */
uint32_t hk_plain_site_define_inside(const struct hk_plain_request *request);

/* Returns the hook of plain sites of DOMAIN, whose calls fail as ERROR says (enum hk_error_rule),
 * or NULL if it cannot be made. DOMAIN has at most 15 bytes. */
const struct hk_hook *hk_plain_site_hook(struct hk_plain_text domain, uint8_t error);

/* Returns the site at INDEX, or NULL if there is no such plain site. */
static inline struct hk_site_hot *hk_plain_site(uint32_t index)
{
	uint32_t plain = index - HK_PLAIN_FIRST;
	struct hk_site_hot *chunk =
	    plain < HK_PLAIN_SITES
		? __atomic_load_n(&hk_plain_hot[plain / HK_PLAIN_CHUNK], __ATOMIC_ACQUIRE)
		: NULL;
	return chunk ? &chunk[plain % HK_PLAIN_CHUNK] : NULL;
}

#endif
