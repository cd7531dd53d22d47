/* The sums of a matcher as a message. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/arrival/matcher.h"
#include "collector/arrival/matcher_tables.h"

/* Returns the place of KEY among COUNT keys that fall. */
static size_t rank_in(const uint64_t *keys, size_t count, uint64_t key)
{
	while (count > 0 && keys[count - 1] < key) {
		count--;
	}
	return count;
}

static int add_late(Hk__WaitSum *sum, const struct hk_matcher_late *from)
{
	Hk__LateRank *late = malloc(sizeof(*late));

	if (!late) {
		return -ENOMEM;
	}
	hk__late_rank__init(late);
	late->rank = from->rank;
	late->times = from->times;
	late->wait_ns = from->wait_ns;
	late->longest_ns = from->longest_ns;
	sum->late[sum->n_late++] = late;
	return 0;
}

/* Sets SUM's ranks to those of KIND that were awaited the longest. */
static int add_ranks(Hk__WaitSum *sum, const struct hk_matcher_kind *kind)
{
	const struct hk_matcher_late *best[HK_MATCHER_LATE];
	uint64_t keys[HK_MATCHER_LATE];
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < kind->room; i++) {
		const struct hk_matcher_late *late = &kind->late[i];
		size_t at = rank_in(keys, count, late->wait_ns);
		if (late->times == 0 || at == HK_MATCHER_LATE) {
			continue;
		}
		size_t moved = (count < HK_MATCHER_LATE ? count : HK_MATCHER_LATE - 1) - at;
		memmove(best + at + 1, best + at, moved * sizeof(best[0]));
		memmove(keys + at + 1, keys + at, moved * sizeof(keys[0]));
		best[at] = late;
		keys[at] = late->wait_ns;
		count += count < HK_MATCHER_LATE;
	}
	sum->late = calloc(count + 1, sizeof(*sum->late));
	for (size_t i = 0; sum->late && r == 0 && i < count; i++) {
		r = add_late(sum, best[i]);
	}
	return sum->late ? r : -ENOMEM;
}

static int add_sum(Hk__Waits *waits, const struct hk_matcher_kind *kind)
{
	Hk__WaitSum *sum = malloc(sizeof(*sum));
	char *name = strdup(kind->function);

	if (!sum || !name) {
		free(sum);
		free(name);
		return -ENOMEM;
	}
	hk__wait_sum__init(sum);
	waits->sums[waits->n_sums++] = sum;
	sum->function = name;
	sum->comm = kind->comm->comm;
	sum->collectives = kind->collectives;
	sum->together = kind->together;
	sum->wait_ns = kind->wait_ns;
	sum->skew_ns = kind->skew_ns;
	sum->longest_skew_ns = kind->longest_skew_ns;
	sum->error_ns = kind->error_ns;
	return add_ranks(sum, kind);
}

static int add_sums(Hk__Waits *waits, const struct hk_matcher *matcher)
{
	const struct hk_matcher_kind *best[HK_MATCHER_SUMS];
	uint64_t keys[HK_MATCHER_SUMS], all_ns = 0, shown_ns = 0;
	size_t count = 0;
	int r = 0;

	for (const struct hk_matcher_kind *kind = matcher->kinds; kind; kind = kind->next) {
		size_t at = rank_in(keys, count, kind->wait_ns);
		all_ns += kind->wait_ns;
		if (kind->collectives == 0 || at == HK_MATCHER_SUMS) {
			continue;
		}
		size_t moved = (count < HK_MATCHER_SUMS ? count : HK_MATCHER_SUMS - 1) - at;
		memmove(best + at + 1, best + at, moved * sizeof(best[0]));
		memmove(keys + at + 1, keys + at, moved * sizeof(keys[0]));
		best[at] = kind;
		keys[at] = kind->wait_ns;
		count += count < HK_MATCHER_SUMS;
	}
	waits->sums = calloc(count + 1, sizeof(*waits->sums));
	for (size_t i = 0; waits->sums && r == 0 && i < count; i++) {
		shown_ns += best[i]->wait_ns;
		r = add_sum(waits, best[i]);
	}
	waits->other_ns = matcher->other_ns + all_ns - shown_ns;
	return waits->sums ? r : -ENOMEM;
}

int hk_matcher_sums(const struct hk_matcher *matcher, Hk__Waits **ret_waits)
{
	Hk__Waits *waits;

	*ret_waits = NULL;
	if (!matcher->kinds && matcher->doubt == 0) {
		return 0;
	}
	waits = malloc(sizeof(*waits));
	if (!waits) {
		return -ENOMEM;
	}
	hk__waits__init(waits);
	waits->collectives = matcher->collectives;
	waits->doubtful = matcher->doubtful;
	waits->incomplete = matcher->incomplete;
	waits->late = matcher->late;
	waits->unsure = matcher->unsure;
	waits->dropped = matcher->dropped;
	waits->clockless = matcher->clockless;
	waits->open = HASH_COUNT(matcher->entries);
	waits->doubt = matcher->doubt;
	waits->doubt_rank = matcher->doubt_rank;
	int r = add_sums(waits, matcher);
	if (r < 0) {
		hk__waits__free_unpacked(waits, NULL);
		return r;
	}
	*ret_waits = waits;
	return 0;
}
