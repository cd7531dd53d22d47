#include "report/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/numbers.h"
#include "ring/segment.h"
#include "sketch/histogram.h"

/* Out of memory is an error to return, not a reason to exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Sites of one process are found in memory one after the other: this far ahead they are fetched. */
#define AHEAD 8u

/* Role, domain and function, a NUL behind each. */
struct hk_fold_group {
	UT_hash_handle hh;
	char *key;
	Hk__Role role;
	const char *domain, *function;
	uint32_t flags;
	struct hk_report_numbers numbers;
	struct hk_histogram histogram;
	int32_t rank; /* the one being summed */
	uint64_t rank_before_ns, rank_most_ns;
	Hk__Function message;
};

/* The sites of the process being folded, and their groups, by id. */
struct slot {
	const Hk__Site *site;
	struct hk_fold_group *group;
};

struct folding {
	struct hk_fold *fold;
	struct slot *slots;
	uint32_t slot_count;
	/* Groups of the sites of the process before, in order: most processes have the same. */
	struct hk_fold_group **hints;
	size_t hint_count;
};

/* ---- groups ---- */

static char *key_new(Hk__Role role, const Hk__Site *site, size_t *ret_size)
{
	size_t domain = strlen(site->domain) + 1, function = strlen(site->function) + 1;
	char *key = malloc(1 + domain + function);

	if (key) {
		key[0] = (char)role;
		memcpy(key + 1, site->domain, domain);
		memcpy(key + 1 + domain, site->function, function);
		*ret_size = 1 + domain + function;
	}
	return key;
}

static struct hk_fold_group *group_new(struct hk_fold *fold, Hk__Role role, const Hk__Site *site)
{
	struct hk_fold_group *group;
	size_t size;
	char *key = key_new(role, site, &size);

	if (!key) {
		return NULL;
	}
	HASH_FIND(hh, fold->groups, key, size, group);
	if (group) {
		free(key);
		return group;
	}
	group = calloc(1, sizeof(*group));
	if (!group) {
		free(key);
		return NULL;
	}
	group->key = key;
	group->role = role;
	group->domain = key + 1;
	group->function = key + 2 + strlen(group->domain);
	HASH_ADD_KEYPTR(hh, fold->groups, key, size, group);
	if (!group->hh.tbl) {
		free(key);
		free(group);
		return NULL;
	}
	return group;
}

/* The group of site number INDEX of a process. */
static struct hk_fold_group *group_of(struct folding *folding, Hk__Role role, const Hk__Site *site,
				      size_t index)
{
	struct hk_fold_group *group = index < folding->hint_count ? folding->hints[index] : NULL;

	if (group && group->role == role && strcmp(group->function, site->function) == 0 &&
	    strcmp(group->domain, site->domain) == 0) {
		return group;
	}
	return group_new(folding->fold, role, site);
}

static void rank_end(struct hk_fold_group *group)
{
	uint64_t ns = group->numbers.total_ns - group->rank_before_ns;

	group->rank_most_ns = ns > group->rank_most_ns ? ns : group->rank_most_ns;
	group->rank_before_ns = group->numbers.total_ns;
}

static void add_cell(struct slot *slot, int32_t rank, const struct hk_columns_row *cell)
{
	struct hk_fold_group *group = slot->group;
	uint64_t *counts = group->histogram.bucket;
	uint64_t timed = 0;

	if (group->rank != rank) {
		rank_end(group);
		group->rank = rank;
	}
	for (size_t i = 0; i < cell->buckets; i++) {
		uint32_t bucket = cell->bucket[i];
		if (bucket < HK_HISTOGRAM_BUCKETS) {
			counts[bucket] += cell->count[i];
			timed += cell->count[i];
		}
	}
	group->flags |= slot->site->flags;
	hk_report_numbers_add_values(&group->numbers, cell, slot->site, timed);
}

/* ---- processes ---- */

static int make_room(struct folding *folding, const Hk__Process *process)
{
	uint32_t top = folding->slot_count;

	for (size_t i = 0; i < process->n_sites; i++) {
		uint32_t id = process->sites[i]->id;
		top = id < HK_SITES_MAX && id >= top ? id + 1 : top;
	}
	if (top > folding->slot_count) {
		struct slot *slots = realloc(folding->slots, top * sizeof(*slots));
		if (!slots) {
			return -ENOMEM;
		}
		memset(slots + folding->slot_count, 0,
		       (top - folding->slot_count) * sizeof(*slots));
		folding->slots = slots;
		folding->slot_count = top;
	}
	if (process->n_sites > folding->hint_count) {
		struct hk_fold_group **hints =
		    realloc(folding->hints, process->n_sites * sizeof(*hints));
		if (!hints) {
			return -ENOMEM;
		}
		memset(hints + folding->hint_count, 0,
		       (process->n_sites - folding->hint_count) * sizeof(*hints));
		folding->hints = hints;
		folding->hint_count = process->n_sites;
	}
	return 0;
}

static int take_sites(struct folding *folding, const Hk__Process *process)
{
	int r = make_room(folding, process);

	for (size_t i = 0; i < process->n_sites && r == 0; i++) {
		const Hk__Site *site = process->sites[i];
		if (i + AHEAD < process->n_sites) {
			__builtin_prefetch(process->sites[i + AHEAD]);
			__builtin_prefetch(process->sites[i + AHEAD / 2]->function);
		}
		if (site->id >= folding->slot_count) {
			continue;
		}
		struct slot *slot = &folding->slots[site->id];
		slot->site = site;
		slot->group = folding->hints[i] = group_of(folding, process->role, site, i);
		r = slot->group ? 0 : -ENOMEM;
	}
	return r;
}

static int add_process(struct folding *folding, const Hk__Process *process)
{
	struct hk_columns_walk walk = {.columns = process->cells};
	struct hk_columns_row cell;
	int r = take_sites(folding, process);

	while (r == 0 && hk_columns_next(&walk, &cell)) {
		struct slot *slot =
		    cell.site < folding->slot_count ? &folding->slots[cell.site] : NULL;
		if (slot && slot->site && cell.calls > 0) {
			add_cell(slot, hk_report_rank_of(process), &cell);
		}
	}
	for (size_t i = 0; i < process->n_sites; i++) {
		if (process->sites[i]->id < folding->slot_count) {
			folding->slots[process->sites[i]->id].site = NULL;
		}
	}
	return r;
}

static int by_rank(const void *a, const void *b)
{
	int32_t x = hk_report_rank_of(*(const Hk__Process *const *)a);
	int32_t y = hk_report_rank_of(*(const Hk__Process *const *)b);

	return (x > y) - (x < y);
}

static int fold_calls(struct hk_fold *fold, const Hk__Snapshot *snapshot)
{
	struct folding folding = {.fold = fold};
	const Hk__Process **sorted = malloc((snapshot->n_processes + 1) * sizeof(*sorted));
	int r = sorted ? 0 : -ENOMEM;

	if (r == 0 && snapshot->n_processes > 0) {
		memcpy(sorted, snapshot->processes, snapshot->n_processes * sizeof(*sorted));
		qsort(sorted, snapshot->n_processes, sizeof(*sorted), by_rank);
	}
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		r = add_process(&folding, sorted[i]);
	}
	free(sorted);
	free(folding.slots);
	free(folding.hints);
	return r;
}

/* ---- the message ---- */

static int set_histogram(struct hk_fold_group *group)
{
	Hk__Function *message = &group->message;
	size_t used = 0;

	for (uint32_t i = 0; hk_histogram_next(&group->histogram, &i); i++) {
		used++;
	}
	message->bucket = malloc((used + 1) * sizeof(*message->bucket));
	message->count = malloc((used + 1) * sizeof(*message->count));
	if (!message->bucket || !message->count) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; hk_histogram_next(&group->histogram, &i); i++) {
		message->bucket[message->n_bucket++] = i;
		message->count[message->n_count++] = group->histogram.bucket[i];
	}
	return 0;
}

static int set_message(struct hk_fold_group *group)
{
	const struct hk_report_numbers *numbers = &group->numbers;
	Hk__Function *message = &group->message;

	rank_end(group);
	hk__function__init(message);
	message->function = (char *)(uintptr_t)group->function;
	message->domain = (char *)(uintptr_t)group->domain;
	message->role = group->role;
	message->flags = group->flags;
	message->calls = numbers->calls;
	message->errors = numbers->errors;
	message->timed = numbers->timed;
	message->latency_ns = numbers->latency_ns;
	message->total_ns = numbers->total_ns;
	message->self_ns = numbers->self_ns;
	message->outermost_ns = numbers->outermost_ns;
	message->bytes = numbers->bytes;
	message->min_ns = numbers->min_ns;
	message->max_ns = numbers->max_ns;
	message->have_total = numbers->have_total;
	message->have_bytes = numbers->have_bytes;
	message->have_latency = numbers->have_latency;
	message->estimated = numbers->estimated;
	message->rank_most_ns = group->rank_most_ns;
	return set_histogram(group);
}

static int set_functions(struct hk_fold *fold)
{
	struct hk_fold_group *group, *next;
	int r = 0;

	fold->snapshot.functions = calloc(HASH_COUNT(fold->groups) + 1, sizeof(Hk__Function *));
	if (!fold->snapshot.functions) {
		return -ENOMEM;
	}
	HASH_ITER (hh, fold->groups, group, next) {
		if (r == 0 && group->numbers.calls > 0) {
			r = set_message(group);
			fold->snapshot.functions[fold->snapshot.n_functions++] = &group->message;
		}
	}
	return r;
}

static bool is_open(const Hk__Process *process, uint32_t site)
{
	for (size_t i = 0; i < process->n_open_calls; i++) {
		if (process->open_calls[i]->site == site) {
			return true;
		}
	}
	return false;
}

/* Processes without cells, and with those sites only that are those of open calls. */
static int set_processes(struct hk_fold *fold, const Hk__Snapshot *snapshot)
{
	size_t sites = 0, used = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		sites +=
		    snapshot->processes[i]->n_open_calls > 0 ? snapshot->processes[i]->n_sites : 0;
	}
	fold->processes = malloc((snapshot->n_processes + 1) * sizeof(*fold->processes));
	fold->snapshot.processes = malloc((snapshot->n_processes + 1) * sizeof(Hk__Process *));
	fold->sites = malloc((sites + 1) * sizeof(Hk__Site *));
	if (!fold->processes || !fold->snapshot.processes || !fold->sites) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *from = snapshot->processes[i];
		Hk__Process *to = &fold->processes[i];
		*to = *from;
		to->cells = NULL;
		to->sites = fold->sites + used;
		to->n_sites = 0;
		for (size_t k = 0; k < from->n_sites && from->n_open_calls > 0; k++) {
			if (is_open(from, from->sites[k]->id)) {
				to->sites[to->n_sites++] = from->sites[k];
			}
		}
		used += to->n_sites;
		fold->snapshot.processes[i] = to;
	}
	return 0;
}

int hk_fold_init(struct hk_fold *fold, const Hk__Snapshot *snapshot)
{
	*fold = (struct hk_fold){.snapshot = *snapshot};
	fold->snapshot.processes = NULL;
	fold->snapshot.folded = true;
	fold->snapshot.functions = NULL;
	fold->snapshot.n_functions = 0;
	int r = fold_calls(fold, snapshot);
	r = r < 0 ? r : set_functions(fold);
	r = r < 0 ? r : set_processes(fold, snapshot);
	if (r < 0) {
		hk_fold_fini(fold);
	}
	return r;
}

void hk_fold_fini(struct hk_fold *fold)
{
	struct hk_fold_group *group, *next;

	HASH_ITER (hh, fold->groups, group, next) {
		HASH_DEL(fold->groups, group);
		free(group->message.bucket);
		free(group->message.count);
		free(group->key);
		free(group);
	}
	free(fold->snapshot.functions);
	free(fold->snapshot.processes);
	free(fold->processes);
	free(fold->sites);
	*fold = (struct hk_fold){.groups = NULL};
}
