#include "cli/compare/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/first.h"
#include "cli/compare/follow.h"
#include "cli/compare/match.h"
#include "cli/compare/measure.h"
#include "cli/compare/ranks.h"
#include "cli/compare/shards.h"

#define PROGRESS_EVERY 256u /* rows */

struct run {
	struct hk_comparison *comparison;
	const struct hk_compare_options *options;
	struct hk_names *names;
	struct hk_shards *shards;
	uint64_t done, total; /* rows */
};

/* ---- rows ---- */

static int pair_match(struct run *run, struct hk_rank_pair *pair)
{
	int r = hk_calls_init(&pair->a_calls, pair->a, run->names, HK_SIDE_A);

	r = r ? r : hk_calls_init(&pair->b_calls, pair->b, run->names, HK_SIDE_B);
	return r ? r : hk_match_rank(pair, run->options->steps_in_order);
}

static int pair_measure(struct run *run, struct hk_rank_pair *pair)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < pair->count; i++) {
		r = hk_measure_match(run->shards, pair, &pair->matches[i]);
		if (++run->done % PROGRESS_EVERY == 0) {
			run->options->progress(run->options->context, run->done, run->total);
		}
	}
	return r;
}

static int pairs_measure(struct run *run)
{
	struct hk_comparison *comparison = run->comparison;
	int r = 0;

	for (size_t i = 0; r == 0 && i < comparison->pair_count; i++) {
		r = pair_match(run, &comparison->pairs[i]);
		run->total += comparison->pairs[i].count;
	}
	r = r ? r : hk_shards_mark_replicated(comparison, run->options->mapping);
	for (size_t i = 0; r == 0 && i < comparison->pair_count; i++) {
		r = pair_measure(run, &comparison->pairs[i]);
	}
	return r;
}

/* ---- the flow ---- */

static void levels_count(struct hk_comparison *comparison)
{
	for (size_t i = 0; i < comparison->pair_count; i++) {
		for (size_t j = 0; j < comparison->pairs[i].count; j++) {
			comparison->levels[comparison->pairs[i].matches[j].level]++;
		}
	}
}

static int flow_judge(struct hk_comparison *comparison)
{
	struct hk_judge *judges = calloc(comparison->pair_count, sizeof(*judges));
	int r = judges ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < comparison->pair_count; i++) {
		r = hk_judge_init(&judges[i], &comparison->pairs[i]);
	}
	r = r ? r : hk_first_find(comparison, judges);
	if (r == 0) {
		hk_follow(comparison, judges);
		levels_count(comparison);
	}
	for (size_t i = 0; judges && i < comparison->pair_count; i++) {
		hk_judge_fini(&judges[i]);
	}
	free(judges);
	return r;
}

/* ---- ranks ---- */

static void damage_warn(const struct run *run, const char *side, const struct hk_values *values)
{
	char sentence[HK_SOURCE_REASON_BYTES];

	if (values->damage) {
		snprintf(sentence, sizeof(sentence), "rows of rank %u of %s may be missing: %.400s",
			 (unsigned)values->rank, side, values->damage);
		run->options->warn(run->options->context, sentence);
	}
}

static int pairs_open(struct run *run, const struct hk_ranks_pair *parts, char *reason)
{
	struct hk_comparison *comparison = run->comparison;

	for (size_t i = 0; i < comparison->pair_count; i++) {
		struct hk_rank_pair *pair = &comparison->pairs[i];
		pair->least = run->options->least;
		pair->factor = run->options->factor;
		pair->a = hk_dump_set_values(&comparison->a, parts[i].a, reason);
		pair->b = pair->a ? hk_dump_set_values(&comparison->b, parts[i].b, reason) : NULL;
		if (!pair->b) {
			return -EIO;
		}
		damage_warn(run, "A", pair->a);
		damage_warn(run, "B", pair->b);
	}
	return 0;
}

static int ranks_open(struct run *run, char *reason)
{
	struct hk_comparison *comparison = run->comparison;
	struct hk_ranks_pair *parts;
	ssize_t count = hk_ranks_pair(comparison, run->options, &parts);

	if (count < 0) {
		return (int)count;
	}
	comparison->pairs = calloc((size_t)count + 1, sizeof(*comparison->pairs));
	comparison->pair_count = comparison->pairs ? (size_t)count : 0;
	int r = comparison->pairs ? pairs_open(run, parts, reason) : -ENOMEM;
	free(parts);
	if (r == 0 && count == 0) {
		snprintf(reason, HK_SOURCE_REASON_BYTES,
			 "no rank is on both sides (name pairs in a --map file: rank 0 = rank 4)");
		r = -ENOENT;
	}
	return r;
}

/* ---- both dumps ---- */

static int sides_open(struct run *run, char *reason)
{
	char why[HK_SOURCE_REASON_BYTES];
	struct hk_comparison *comparison = run->comparison;
	const char *paths[] = {run->options->a, run->options->b};
	struct hk_dump_set *sets[] = {&comparison->a, &comparison->b};

	for (int i = 0; i < 2; i++) {
		int r = hk_dump_set_open(sets[i], paths[i], why);
		if (r < 0) {
			snprintf(reason, HK_SOURCE_REASON_BYTES, "%.200s: %.280s", paths[i], why);
			return r;
		}
	}
	return 0;
}

int hk_compare_dumps(struct hk_comparison *comparison, const struct hk_compare_options *options,
		     char reason[HK_SOURCE_REASON_BYTES])
{
	struct run run = {.comparison = comparison, .options = options};

	*comparison = (struct hk_comparison){0};
	snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", strerror(ENOMEM));
	run.names = hk_names_new(options->mapping);
	int r = run.names ? sides_open(&run, reason) : -ENOMEM;
	r = r ? r : ranks_open(&run, reason);
	run.shards = r ? NULL : hk_shards_new(comparison, options->mapping);
	r = r || run.shards ? r : -ENOMEM;
	r = r ? r : pairs_measure(&run);
	hk_shards_free(run.shards);
	r = r ? r : flow_judge(comparison);
	hk_names_free(run.names);
	if (r < 0) {
		hk_comparison_fini(comparison);
	}
	return r;
}

void hk_comparison_fini(struct hk_comparison *comparison)
{
	for (size_t i = 0; i < comparison->pair_count; i++) {
		struct hk_rank_pair *pair = &comparison->pairs[i];
		for (size_t j = 0; j < pair->count; j++) {
			free(pair->matches[j].difference);
		}
		free(pair->matches);
		hk_calls_fini(&pair->a_calls);
		hk_calls_fini(&pair->b_calls);
	}
	free(comparison->pairs);
	hk_dump_set_close(&comparison->a);
	hk_dump_set_close(&comparison->b);
	*comparison = (struct hk_comparison){0};
}
