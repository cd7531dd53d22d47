/* step_watch.h: how long the steps of a process take: those that it marks by hk_step, or its ranges
 * with the name of a step (text/step_name.h). */
#ifndef HK_COLLECTOR_TRIGGER_STEP_WATCH_H
#define HK_COLLECTOR_TRIGGER_STEP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/trigger/window.h"
#include "schema/wire.pb-c.h"
#include "sketch/histogram.h"

/* Zeroed: no step yet. */
struct hk_step_watch {
	uint32_t *sites; /* rising; sites that are steps */
	size_t site_count;
	struct hk_histogram *so_far; /* of all steps before this look; NULL: none yet */
	struct hk_histogram *marked; /* of the marked ones among them; NULL: none */
	uint64_t steps;		     /* in there */
	double longest_ns;	     /* in this look; 0: none ended */
	double median_ns;	     /* before this look; 0: too few steps for one */
	double middle_ns;    /* of the middle step of the site with the longest, in this look */
	unsigned slow_looks; /* in a row, in which the middle step took longer than before */
};

void hk_step_watch_fini(struct hk_step_watch *steps);

/* Looks at a new site of the process. Without memory it is no step. */
void hk_step_watch_site(struct hk_step_watch *steps, const Hk__Site *site);
bool hk_step_watch_wants(const struct hk_step_watch *steps, uint32_t site);

/* A look begins. */
void hk_step_watch_begin(struct hk_step_watch *steps);
/* Adds those of the marked steps STATE (or NULL) that are new. */
void hk_step_watch_marks(struct hk_step_watch *steps, const Hk__StepTimes *state);
/* Adds the new steps of a site. */
void hk_step_watch_add(struct hk_step_watch *steps, const struct hk_window *window);

/* Returns the longest step of the look in ns, and that as a multiple of the median before; 0: not
 * known. */
double hk_step_watch_longest(const struct hk_step_watch *steps);
double hk_step_watch_factor(const struct hk_step_watch *steps);

/* Returns whether the middle step of this look and of the two looks with steps before took a fifth
 * longer than the median before. Call it once a look. */
bool hk_step_watch_is_slow(struct hk_step_watch *steps);

#endif
