/* plan.h: plans the way out of a site's calls, when the site is bound or its level changes. */
#ifndef HK_AGENT_FRAME_PLAN_H
#define HK_AGENT_FRAME_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/hot.h"

/* Sets the words and flags of HOT from its hook and level, and its NUMBER in the segment. */
void hk_plan_site(struct hk_site_hot *hot, uint32_t number);

/* Returns the flags of HOT at its present level. Only they depend on the level. */
uint8_t hk_plan_flags(const struct hk_site_hot *hot);

/* Returns which clock a call reads at its end (HK_EXIT_*), and what it does with the stack
 * (HK_STACK_WORDS_*). */
uint8_t hk_plan_exit(const struct hk_hook *hook);
uint8_t hk_plan_stack_words(const struct hk_hook *hook);

/* Whether calls of devices' APIs take the long way, by which device time is joined with them
 * (call/launches.h). Set before the first site. */
extern bool hk_plan_devices;

/* Returns whether DOMAIN is such an API. */
bool hk_plan_is_device(const char *domain);

/* A call that returned, for the observer. */
struct hk_observed {
	uint64_t ns;
	const uint64_t *values; /* its named values; NULL: not wanted at its level */
};

/* Called after each call with its struct hk_call and its struct hk_observed, through
 * hk_state_saved, where the stack has HK_OBSERVER_STACK_BYTES. NULL: no observer. Set once,
 * before the first site: with an observer no call takes the short way out. */
extern int (*hk_observer)(void *call, void *observed);
#define HK_OBSERVER_STACK_BYTES 16384u

#endif
