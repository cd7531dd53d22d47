#include "report/build/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/numbers.h"
#include "report/model/role.h"
#include "text/name.h"

/* uthash reports out of memory instead of exiting. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define DOMAIN_KEYS (HK_GROUP_FUNCTION | HK_GROUP_DOMAIN)

struct key {
	const char *domain, *function, *library, *host, *role;
	int64_t rank;
};

struct entry {
	UT_hash_handle hh;
	struct key key;
	struct hk_group group;
	int32_t current_rank; /* rank being summed; rows are ordered by rank */
	uint64_t current_ns;
};

static struct entry *entry_get(struct entry **entries, const struct hk_report_call *call,
			       unsigned keys)
{
	bool together = keys & HK_GROUP_TOGETHER && strcmp(call->role, "helper") == 0;
	struct key key = {
	    .domain = keys & DOMAIN_KEYS ? call->domain : NULL,
	    .function = keys & HK_GROUP_FUNCTION ? call->function : NULL,
	    .library = keys & HK_GROUP_LIBRARY ? call->library : NULL,
	    .host = keys & HK_GROUP_HOST ? call->host : NULL,
	    .role = together ? hk_report_role_name(HK__ROLE__ROLE_MAIN) : call->role,
	    .rank = keys & HK_GROUP_RANK ? call->rank : 0,
	};
	struct entry *entry;

	HASH_FIND(hh, *entries, &key, sizeof(key), entry);
	if (entry) {
		return entry;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry) {
		return NULL;
	}
	entry->key = key;
	entry->current_rank = call->rank;
	entry->group = (struct hk_group){
	    .role = key.role,
	    .domain = key.domain,
	    .function = key.function,
	    .library = key.library,
	    .host = key.host,
	    .rank = (int32_t)key.rank,
	    .max_rank = call->rank,
	};
	HASH_ADD(hh, *entries, key, sizeof(key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	return entry;
}

static void rank_end(struct entry *entry)
{
	if (entry->current_ns > entry->group.rank_most_ns) {
		entry->group.rank_most_ns = entry->current_ns;
	}
	entry->current_ns = 0;
}

static uint64_t share_ns(const struct hk_report_numbers *numbers, unsigned keys)
{
	return keys & HK_GROUP_FUNCTION ? numbers->total_ns : numbers->self_ns;
}

static int entry_add(struct entry *entry, const struct hk_report_call *call, unsigned keys)
{
	const struct hk_report_numbers *numbers = &call->numbers;

	if (entry->current_rank != call->rank) {
		rank_end(entry);
		entry->current_rank = call->rank;
	}
	entry->current_ns += share_ns(numbers, keys);
	entry->group.flags |= call->flags;
	if (numbers->have_latency &&
	    (!entry->group.numbers.have_latency || numbers->max_ns > entry->group.numbers.max_ns)) {
		entry->group.max_rank = call->rank;
	}
	return hk_report_numbers_add(&entry->group.numbers, numbers);
}

static int by_rank(const void *a, const void *b)
{
	const struct hk_group *x = a, *y = b;

	if (x->rank != y->rank) {
		return x->rank < y->rank ? -1 : 1;
	}
	/* main before launcher and helper */
	int order = -strcmp(x->role, y->role);
	return order == 0 && x->domain ? strcmp(x->domain, y->domain) : order;
}

static int by_total(const void *a, const void *b)
{
	const struct hk_group *x = a, *y = b;
	bool mixed = !x->function;
	uint64_t x_ns = mixed ? x->numbers.self_ns : x->numbers.total_ns;
	uint64_t y_ns = mixed ? y->numbers.self_ns : y->numbers.total_ns;

	if (x_ns != y_ns) {
		return x_ns > y_ns ? -1 : 1;
	}
	if (x->numbers.calls != y->numbers.calls) {
		return x->numbers.calls > y->numbers.calls ? -1 : 1;
	}
	if (x->rank != y->rank) {
		return x->rank < y->rank ? -1 : 1;
	}
	int order = x->function ? strcmp(x->function, y->function) : 0;
	order = order == 0 && x->library ? strcmp(x->library, y->library) : order;
	order = order == 0 && x->host ? strcmp(x->host, y->host) : order;
	return order ? order : strcmp(x->role, y->role);
}

static size_t ranks_on(const struct hk_report *report, const char *host)
{
	size_t ranks = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		ranks += strcmp(report->ranks[i].host, host) == 0;
	}
	return ranks;
}

/* Returns the highest time of one rank over the mean of the job's ranks, or of the host's ranks if
 * hosts are a key. Returns 0 without time, if ranks are a key, and for launchers, which are not
 * ranks. */
static double imbalance_of(const struct hk_group *group, const struct hk_report *report,
			   unsigned keys)
{
	uint64_t all = share_ns(&group->numbers, keys);

	if (all == 0 || keys & HK_GROUP_RANK || strcmp(group->role, "launcher") == 0) {
		return 0;
	}
	size_t ranks = keys & HK_GROUP_HOST ? ranks_on(report, group->host) : report->rank_count;
	return (double)group->rank_most_ns * (double)(ranks ? ranks : 1) / (double)all;
}

static void group_finish(struct entry *entry, const struct hk_report *report, unsigned keys)
{
	struct hk_group *group = &entry->group;

	rank_end(entry);
	hk_report_numbers_finish(&group->numbers);
	group->imbalance = imbalance_of(group, report, keys);
}

static void sort(struct hk_groups *groups, unsigned keys)
{
	bool ranks = (keys & ~(HK_GROUP_HOST | HK_GROUP_DOMAIN)) == HK_GROUP_RANK;

	qsort(groups->groups, groups->count, sizeof(*groups->groups), ranks ? by_rank : by_total);
}

int hk_groups_init(struct hk_groups *groups, const struct hk_report *report, unsigned keys)
{
	struct entry *entries = NULL, *entry, *next;
	int r = 0;

	for (size_t i = 0; r == 0 && i < report->call_count; i++) {
		entry = entry_get(&entries, &report->calls[i], keys);
		r = entry ? entry_add(entry, &report->calls[i], keys) : -ENOMEM;
	}
	*groups = (struct hk_groups){0};
	groups->groups = calloc(HASH_COUNT(entries) + 1u, sizeof(*groups->groups));
	if (!groups->groups) {
		r = -ENOMEM;
	}
	HASH_ITER (hh, entries, entry, next) {
		HASH_DEL(entries, entry);
		if (r == 0) {
			group_finish(entry, report, keys);
			groups->groups[groups->count++] = entry->group;
		} else {
			hk_report_numbers_fini(&entry->group.numbers);
		}
		free(entry);
	}
	if (r < 0) {
		free(groups->groups);
		*groups = (struct hk_groups){0};
		return r;
	}
	sort(groups, keys);
	return 0;
}

static int take_function(struct hk_group *group, const Hk__Function *from, unsigned keys,
			 const struct hk_report *report)
{
	struct hk_report_numbers *numbers = &group->numbers;
	size_t used = from->n_bucket < from->n_count ? from->n_bucket : from->n_count;

	*group = (struct hk_group){
	    .role = hk_report_role_name(from->role),
	    .domain = keys & DOMAIN_KEYS ? from->domain : NULL,
	    .function = keys & HK_GROUP_FUNCTION ? from->function : NULL,
	    .library = keys & HK_GROUP_LIBRARY ? from->library : NULL,
	    .host = keys & HK_GROUP_HOST ? from->host : NULL,
	    .rank = keys & HK_GROUP_RANK ? from->rank : 0,
	    .flags = from->flags,
	    .rank_most_ns = from->rank_most_ns,
	    .numbers = {.calls = from->calls,
			.errors = from->errors,
			.timed = from->timed,
			.weight = from->weight ? from->weight : from->timed,
			.latency_ns = from->latency_ns,
			.total_ns = from->total_ns,
			.self_ns = from->self_ns,
			.outermost_ns = from->outermost_ns,
			.inner_calls = from->inner_calls,
			.bytes = from->bytes,
			.device_ns = from->device_ns,
			.have_device = from->have_device,
			.min_ns = from->min_ns,
			.max_ns = from->max_ns,
			.have_total = from->have_total,
			.have_bytes = from->have_bytes,
			.have_latency = from->have_latency,
			.estimated = from->estimated},
	};
	group->imbalance = imbalance_of(group, report, keys);
	int r = hk_report_numbers_add_buckets(numbers, from->bucket, from->count, used);
	hk_report_numbers_finish(numbers);
	return r;
}

int hk_groups_of_functions(struct hk_groups *groups, const Hk__Snapshot *snapshot,
			   const struct hk_report *report)
{
	unsigned keys = snapshot->fold_keys ? snapshot->fold_keys : HK_GROUP_FUNCTION;
	int r = 0;

	*groups = (struct hk_groups){
	    .groups = calloc(snapshot->n_functions + 1, sizeof(*groups->groups))};
	if (!groups->groups) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_functions && r == 0; i++) {
		r = take_function(&groups->groups[groups->count++], snapshot->functions[i], keys,
				  report);
	}
	if (r < 0) {
		hk_groups_fini(groups);
		return r;
	}
	sort(groups, keys);
	return 0;
}

void hk_groups_fini(struct hk_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		hk_report_numbers_fini(&groups->groups[i].numbers);
	}
	free(groups->groups);
	*groups = (struct hk_groups){0};
}

const char *hk_group_library(const struct hk_groups *groups, size_t index)
{
	const struct hk_group *group = &groups->groups[index];
	const char *base = hk_name_base(group->library);

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *other = &groups->groups[i];
		/* Texts are shared: equal functions have equal addresses. */
		if (other->function == group->function && other->library != group->library &&
		    strcmp(hk_name_base(other->library), base) == 0) {
			return group->library;
		}
	}
	return base;
}
