#include "report/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/group.h"
#include "report/numbers.h"
#include "ring/segment.h"
#include "sketch/histogram.h"

/* Out of memory is an error to return, not a reason to exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Sites of one process are found in memory one after the other: this far ahead they are fetched. */
#define AHEAD 8u

#define KEYS_ALL (HK_GROUP_FUNCTION | HK_GROUP_LIBRARY | HK_GROUP_RANK | HK_GROUP_HOST)
/* Keys that sites of one process may differ in. */
#define KEYS_OF_SITES (HK_GROUP_FUNCTION | HK_GROUP_LIBRARY)

/* Of which calls a group is: texts that are no key are "". */
struct identity {
	Hk__Role role;
	int32_t rank;
	const char *domain, *function, *library, *host;
};

struct hk_fold_group {
	UT_hash_handle hh;
	char *key; /* role and rank; the texts, a NUL behind each */
	struct identity identity;
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
	const Hk__SnapshotRequest *request;
	unsigned keys;
	struct slot *slots;
	uint32_t slot_count;
	/* Groups of the sites of the process before, in order: most processes have the same. */
	struct hk_fold_group **hints;
	size_t hint_count;
};

/* ---- groups ---- */

static struct identity identity_of(unsigned keys, const Hk__Process *process, const Hk__Site *site)
{
	bool function = keys & HK_GROUP_FUNCTION;

	return (struct identity){
	    .role = process->role,
	    .rank = keys & HK_GROUP_RANK ? hk_report_rank_of(process) : 0,
	    .domain = function ? site->domain : "",
	    .function = function ? site->function : "",
	    .library = keys & HK_GROUP_LIBRARY ? site->library : "",
	    .host = keys & HK_GROUP_HOST ? process->host : "",
	};
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->role == b->role && a->rank == b->rank && strcmp(a->function, b->function) == 0 &&
	       strcmp(a->domain, b->domain) == 0 && strcmp(a->library, b->library) == 0 &&
	       strcmp(a->host, b->host) == 0;
}

/* Copies TEXT to *AT, leaves *AT behind it. */
static const char *put(char **at, const char *text)
{
	char *copy = *at;
	size_t size = strlen(text) + 1;

	memcpy(copy, text, size);
	*at = copy + size;
	return copy;
}

/* IDENTITY as bytes, and as texts that lie in these. */
static char *key_new(struct identity *identity, size_t *ret_size)
{
	size_t size = sizeof(char) + sizeof(identity->rank) + strlen(identity->domain) +
		      strlen(identity->function) + strlen(identity->library) +
		      strlen(identity->host) + 4;
	char *key = malloc(size), *at = key;

	if (key) {
		*at++ = (char)identity->role;
		memcpy(at, &identity->rank, sizeof(identity->rank));
		at += sizeof(identity->rank);
		identity->domain = put(&at, identity->domain);
		identity->function = put(&at, identity->function);
		identity->library = put(&at, identity->library);
		identity->host = put(&at, identity->host);
		*ret_size = size;
	}
	return key;
}

static struct hk_fold_group *group_new(struct hk_fold *fold, struct identity identity)
{
	struct hk_fold_group *group;
	size_t size;
	char *key = key_new(&identity, &size);

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
	group->identity = identity;
	HASH_ADD_KEYPTR(hh, fold->groups, key, size, group);
	if (!group->hh.tbl) {
		free(key);
		free(group);
		return NULL;
	}
	return group;
}

/* The group of site number INDEX of PROCESS, the one before it being of group BEFORE, if any. */
static struct hk_fold_group *group_of(struct folding *folding, const Hk__Process *process,
				      size_t index, struct hk_fold_group *before)
{
	struct hk_fold_group *group = index < folding->hint_count ? folding->hints[index] : NULL;

	if (before && !(folding->keys & KEYS_OF_SITES)) {
		return before;
	}
	struct identity identity = identity_of(folding->keys, process, process->sites[index]);
	if (group && is_same(&group->identity, &identity)) {
		return group;
	}
	return group_new(folding->fold, identity);
}

/* ---- which calls ---- */

static bool is_wanted(const char *wanted, const char *text)
{
	return !*wanted || strcmp(wanted, text) == 0;
}

static bool is_process_wanted(const Hk__SnapshotRequest *request, const Hk__Process *process)
{
	const Hk__Function *only = request->fold_only;

	return !only || (is_wanted(only->host, process->host) &&
			 strcmp(hk_report_role_name(only->role), hk_report_role_of(process)) == 0 &&
			 (!only->have_rank || only->rank == hk_report_rank_of(process)));
}

static bool is_site_wanted(const Hk__SnapshotRequest *request, const Hk__Site *site)
{
	const Hk__Function *only = request->fold_only;

	return !only ||
	       (is_wanted(only->function, site->function) &&
		is_wanted(only->domain, site->domain) && is_wanted(only->library, site->library));
}

/* ---- sums ---- */

static void rank_end(struct hk_fold_group *group, unsigned keys)
{
	uint64_t all = keys & HK_GROUP_FUNCTION ? group->numbers.total_ns : group->numbers.self_ns;
	uint64_t ns = all - group->rank_before_ns;

	group->rank_most_ns = ns > group->rank_most_ns ? ns : group->rank_most_ns;
	group->rank_before_ns = all;
}

static void add_cell(struct slot *slot, unsigned keys, int32_t rank,
		     const struct hk_columns_row *cell)
{
	struct hk_fold_group *group = slot->group;
	uint64_t *counts = group->histogram.bucket;
	uint64_t timed = 0;

	if (group->rank != rank) {
		rank_end(group, keys);
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
	struct hk_fold_group *before = NULL;

	for (size_t i = 0; i < process->n_sites && r == 0; i++) {
		const Hk__Site *site = process->sites[i];
		if (i + AHEAD < process->n_sites) {
			__builtin_prefetch(process->sites[i + AHEAD]);
			__builtin_prefetch(process->sites[i + AHEAD / 2]->function);
		}
		if (site->id >= folding->slot_count || !is_site_wanted(folding->request, site)) {
			continue;
		}
		struct slot *slot = &folding->slots[site->id];
		slot->site = site;
		slot->group = folding->hints[i] = before = group_of(folding, process, i, before);
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
			add_cell(slot, folding->keys, hk_report_rank_of(process), &cell);
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

static int fold_calls(struct hk_fold *fold, const Hk__Snapshot *snapshot,
		      const Hk__SnapshotRequest *request)
{
	struct folding folding = {
	    .fold = fold, .request = request, .keys = fold->snapshot.fold_keys};
	const Hk__Process **sorted = malloc((snapshot->n_processes + 1) * sizeof(*sorted));
	int r = sorted ? 0 : -ENOMEM;

	if (r == 0 && snapshot->n_processes > 0) {
		memcpy(sorted, snapshot->processes, snapshot->n_processes * sizeof(*sorted));
		qsort(sorted, snapshot->n_processes, sizeof(*sorted), by_rank);
	}
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		r = is_process_wanted(request, sorted[i]) ? add_process(&folding, sorted[i]) : 0;
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

static int set_message(struct hk_fold_group *group, const Hk__SnapshotRequest *request,
		       unsigned keys)
{
	const struct hk_report_numbers *numbers = &group->numbers;
	const struct identity *identity = &group->identity;
	Hk__Function *message = &group->message;

	rank_end(group, keys);
	hk__function__init(message);
	message->function = (char *)(uintptr_t)identity->function;
	message->domain = (char *)(uintptr_t)identity->domain;
	message->library = (char *)(uintptr_t)identity->library;
	message->host = (char *)(uintptr_t)identity->host;
	message->rank = identity->rank;
	message->have_rank = keys & HK_GROUP_RANK;
	message->role = identity->role;
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
	return request->no_histograms ? 0 : set_histogram(group);
}

static int set_functions(struct hk_fold *fold, const Hk__SnapshotRequest *request)
{
	struct hk_fold_group *group, *next;
	int r = 0;

	fold->snapshot.functions = calloc(HASH_COUNT(fold->groups) + 1, sizeof(Hk__Function *));
	if (!fold->snapshot.functions) {
		return -ENOMEM;
	}
	HASH_ITER (hh, fold->groups, group, next) {
		if (r == 0 && group->numbers.calls > 0) {
			r = set_message(group, request, fold->snapshot.fold_keys);
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

int hk_fold_init(struct hk_fold *fold, const Hk__Snapshot *snapshot,
		 const Hk__SnapshotRequest *request)
{
	*fold = (struct hk_fold){.snapshot = *snapshot};
	fold->snapshot.processes = NULL;
	fold->snapshot.folded = true;
	fold->snapshot.fold_keys = request->fold_keys ? request->fold_keys : HK_GROUP_FUNCTION;
	fold->snapshot.functions = NULL;
	fold->snapshot.n_functions = 0;
	if (fold->snapshot.fold_keys & ~KEYS_ALL) {
		return -EINVAL;
	}
	int r = fold_calls(fold, snapshot, request);
	r = r < 0 ? r : set_functions(fold, request);
	if (request->no_processes) {
		fold->snapshot.n_processes = 0;
	} else {
		r = r < 0 ? r : set_processes(fold, snapshot);
	}
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
