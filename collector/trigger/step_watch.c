#include "collector/trigger/step_watch.h"

#include <stdlib.h>
#include <string.h>

#include "hooks/hook.h"
#include "text/step_name.h"

#define STEPS_LEAST 10u /* that a median needs */
#define SLOW_FACTOR 1.2
#define SLOW_LOOKS 3u

void hk_step_watch_fini(struct hk_step_watch *steps)
{
	free(steps->sites);
	free(steps->so_far);
	free(steps->marked);
	*steps = (struct hk_step_watch){0};
}

static bool is_step(const Hk__Site *site)
{
	return site->meaning == HK_MEANING_RANGE && hk_is_step_name(site->function);
}

void hk_step_watch_site(struct hk_step_watch *steps, const Hk__Site *site)
{
	if (!is_step(site)) {
		return;
	}
	steps->so_far = steps->so_far ? steps->so_far : calloc(1, sizeof(*steps->so_far));
	uint32_t *sites =
	    steps->so_far ? reallocarray(steps->sites, steps->site_count + 1, sizeof(*steps->sites))
			  : NULL;
	if (!sites) {
		return;
	}
	steps->sites = sites;
	size_t at = steps->site_count++;
	while (at > 0 && sites[at - 1] > site->id) {
		sites[at] = sites[at - 1];
		at--;
	}
	sites[at] = site->id;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

bool hk_step_watch_wants(const struct hk_step_watch *steps, uint32_t site)
{
	return steps->site_count > 0 &&
	       bsearch(&site, steps->sites, steps->site_count, sizeof(site), compare) != NULL;
}

/* Returns the middle step so far, or 0. */
static double median_of(const struct hk_step_watch *steps)
{
	uint64_t below = 0;
	uint32_t bucket = 0;
	if (steps->steps < STEPS_LEAST) {
		return 0;
	}
	while (hk_histogram_next(steps->so_far, &bucket)) {
		below += steps->so_far->bucket[bucket];
		if (2 * below >= steps->steps) {
			return (double)hk_histogram_lower_ns(bucket) +
			       (double)hk_histogram_width_ns(bucket) / 2;
		}
		bucket++;
	}
	return 0;
}

void hk_step_watch_begin(struct hk_step_watch *steps)
{
	if (steps->so_far) {
		steps->longest_ns = 0;
		steps->median_ns = median_of(steps);
	}
}

void hk_step_watch_add(struct hk_step_watch *steps, const struct hk_window *window)
{
	if (window->timed == 0) {
		return;
	}
	double longest = hk_window_value(window, HK_CONDITION_MAX);
	if (longest > steps->longest_ns) {
		steps->longest_ns = longest;
		steps->middle_ns = hk_window_value(window, HK_CONDITION_P50);
	}
	for (size_t i = 0; i < window->buckets; i++) {
		if (window->bucket[i] < HK_HISTOGRAM_BUCKETS) {
			steps->so_far->bucket[window->bucket[i]] += window->count[i];
			steps->steps += window->count[i];
		}
	}
}

void hk_step_watch_marks(struct hk_step_watch *steps, const Hk__StepTimes *state)
{
	struct hk_window window = {.buckets = 0};
	if (!state) {
		return;
	}
	steps->so_far = steps->so_far ? steps->so_far : calloc(1, sizeof(*steps->so_far));
	steps->marked = steps->marked ? steps->marked : calloc(1, sizeof(*steps->marked));
	for (size_t i = 0; steps->so_far && steps->marked && i < state->n_bucket &&
			   i < state->n_count && i < HK_HISTOGRAM_BUCKETS;
	     i++) {
		uint32_t bucket = state->bucket[i];
		if (bucket >= HK_HISTOGRAM_BUCKETS ||
		    state->count[i] <= steps->marked->bucket[bucket]) {
			continue; /* another node's collector may send anything */
		}
		window.bucket[window.buckets] = bucket;
		window.count[window.buckets] = state->count[i] - steps->marked->bucket[bucket];
		window.timed += window.count[window.buckets++];
		steps->marked->bucket[bucket] = state->count[i];
	}
	if (window.timed > 0) {
		hk_step_watch_add(steps, &window);
	}
}

double hk_step_watch_longest(const struct hk_step_watch *steps)
{
	return steps->longest_ns;
}

double hk_step_watch_factor(const struct hk_step_watch *steps)
{
	return steps->median_ns > 0 ? steps->longest_ns / steps->median_ns : 0;
}

bool hk_step_watch_is_slow(struct hk_step_watch *steps)
{
	if (steps->longest_ns > 0) {
		bool slow =
		    steps->median_ns > 0 && steps->middle_ns > SLOW_FACTOR * steps->median_ns;
		steps->slow_looks = slow ? steps->slow_looks + 1 : 0;
	}
	return steps->slow_looks >= SLOW_LOOKS;
}
