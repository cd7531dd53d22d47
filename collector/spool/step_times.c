#include "collector/spool/step_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "hooks/hook.h"
#include "sketch/histogram.h"

void hk_step_times_fini(struct hk_step_times *steps)
{
	free(steps->histogram);
	*steps = (struct hk_step_times){0};
}

bool hk_step_times_wanted(struct hk_step_times *steps, struct hk_reader *reader)
{
	const struct hk_site_info *info;
	while (steps->site_count < HK_STEP_SITES && steps->looked < HK_SITES_MAX &&
	       (info = hk_reader_site(reader, steps->looked)) != NULL) {
		if (info->meaning == HK_MEANING_MARK && strcmp(info->function, "step") == 0) {
			steps->sites[steps->site_count++] = steps->looked;
		}
		steps->looked++;
	}
	return steps->site_count > 0;
}

static bool is_mark(const struct hk_step_times *steps, uint32_t site)
{
	for (uint32_t i = 0; i < steps->site_count; i++) {
		if (steps->sites[i] == site) {
			return true;
		}
	}
	return false;
}

void hk_step_times_add(struct hk_step_times *steps, const struct hk_record *record,
		       uint64_t tick_ns_q32, uint64_t lost)
{
	if (!is_mark(steps, record->site)) {
		return;
	}
	steps->histogram =
	    steps->histogram ? steps->histogram : calloc(1, sizeof(*steps->histogram));
	uint64_t begin = steps->last_ticks, now = record->start_ticks;
	if (steps->histogram && begin != 0 && now > begin && steps->lost == lost) {
		uint64_t ns = hk_clock_ticks_to_ns(now - begin, tick_ns_q32);
		steps->histogram->bucket[hk_histogram_index(ns)]++;
		steps->counted++;
	}
	/* hooktrace.h, HK_NO_STEP: no step begins. */
	bool none = record->word_count > 0 && record->words[0] == UINT64_MAX;
	steps->last_ticks = none ? 0 : now;
	steps->lost = lost;
}

static size_t count_buckets(const struct hk_histogram *histogram)
{
	size_t count = 0;
	for (uint32_t bucket = 0; hk_histogram_next(histogram, &bucket); bucket++) {
		count++;
	}
	return count;
}

int hk_step_times_write(struct hk_step_times *steps, Hk__StepTimes **state)
{
	if (steps->counted == steps->shown) {
		return 0;
	}
	size_t count = count_buckets(steps->histogram);
	Hk__StepTimes *message = malloc(sizeof(*message));
	uint32_t *buckets = calloc(count + 1, sizeof(*buckets));
	uint64_t *counts = calloc(count + 1, sizeof(*counts));
	if (!message || !buckets || !counts) {
		free(message);
		free(buckets);
		free(counts);
		return -ENOMEM;
	}
	hk__step_times__init(message);
	message->bucket = buckets;
	message->count = counts;
	for (uint32_t bucket = 0; hk_histogram_next(steps->histogram, &bucket); bucket++) {
		buckets[message->n_bucket++] = bucket;
		counts[message->n_count++] = steps->histogram->bucket[bucket];
	}
	if (*state) {
		hk__step_times__free_unpacked(*state, NULL);
	}
	*state = message;
	steps->shown = steps->counted;
	return 0;
}
