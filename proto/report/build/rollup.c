#include "report/build/rollup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/build/group.h"
#include "report/build/process_calls.h"
#include "report/model/numbers.h"
#include "report/model/role.h"
#include "ring/segment.h"
#include "sketch/histogram.h"

/* uthash reports out of memory instead of exiting. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Distance, in sites, at which the sites of a process are prefetched. */
#define AHEAD 8u
#define SLOTS_FLOOR 64u

#define KEYS_ALL                                                                                  \
	(HK_GROUP_FUNCTION | HK_GROUP_LIBRARY | HK_GROUP_RANK | HK_GROUP_HOST | HK_GROUP_DOMAIN | \
	 HK_GROUP_PROCESS)
/* Keys in which the sites of one process may differ. */
#define KEYS_OF_SITES (HK_GROUP_FUNCTION | HK_GROUP_LIBRARY | HK_GROUP_DOMAIN)

/* The text of every field that is not a key, so that one address stands for all of them. */
static const char no_key[] = "";

/* What the calls of a group have in common. */
struct identity {
	Hk__Role role;
	int32_t rank;
	const char *domain, *function, *library, *host;
};

struct hk_rollup_group {
	UT_hash_handle hh;
	char *key; /* role, rank and the texts, each with a NUL */
	struct identity identity;
	uint32_t flags;
	struct hk_report_numbers numbers;
	struct hk_histogram histogram;
	int32_t rank; /* rank being summed */
	uint64_t rank_before_ns, rank_most_ns;
	Hk__Function message;
};

/* A site of the current process, and its group. A site that the current process lacks keeps the
 * group of the last process that had it, because most processes have the same. */
struct slot {
	const Hk__Site *site;
	struct hk_rollup_group *group;
};

struct folding {
	struct hk_rollup *fold;
	const Hk__SnapshotRequest *request;
	unsigned keys;
	struct slot *slots; /* indexed by site id */
	uint32_t slot_count;
	uint32_t *taken; /* ids of the slots with a site, in the order of the sites */
	size_t taken_count, taken_room;
	uint64_t digest;	    /* of the sites in the slots; 0: unknown */
	const Hk__Process *process; /* process whose groups are in the slots */
};

/* ---- groups ---- */

static struct identity identity_of(unsigned keys, const Hk__Process *process, const Hk__Site *site)
{
	bool function = keys & HK_GROUP_FUNCTION;

	return (struct identity){
	    .role = process->role,
	    .rank = keys & HK_GROUP_RANK ? hk_report_rank_of(process) : 0,
	    .domain = function || keys & HK_GROUP_DOMAIN ? site->domain : no_key,
	    .function = function ? site->function : no_key,
	    .library = keys & HK_GROUP_LIBRARY ? site->library : no_key,
	    .host = keys & HK_GROUP_HOST ? process->host : no_key,
	};
}

/* Compares addresses first: fields that are not keys share one text. */
static bool is_text(const char *a, const char *b)
{
	return a == b || strcmp(a, b) == 0;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->role == b->role && a->rank == b->rank && is_text(a->function, b->function) &&
	       is_text(a->domain, b->domain) && is_text(a->library, b->library) &&
	       is_text(a->host, b->host);
}

/* Copies TEXT to *AT and moves *AT behind it. Returns the copy, or the shared empty text. */
static const char *put(char **at, const char *text)
{
	char *copy = *at;
	size_t size = strlen(text) + 1;

	memcpy(copy, text, size);
	*at = copy + size;
	return *text ? copy : no_key;
}

/* Returns IDENTITY as bytes, and makes its texts point into them. Returns NULL if out of memory. */
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

static struct hk_rollup_group *group_new(struct hk_rollup *fold, struct identity identity)
{
	struct hk_rollup_group *group;
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

/* Returns the group of SITE of PROCESS, or NULL if out of memory. HINT is a group that it may be,
 * BEFORE the group of the previous site. Either may be NULL. */
static struct hk_rollup_group *group_of(struct folding *folding, const Hk__Process *process,
					const Hk__Site *site, struct hk_rollup_group *hint,
					struct hk_rollup_group *before)
{
	if (before && !(folding->keys & KEYS_OF_SITES)) {
		return before;
	}
	struct identity identity = identity_of(folding->keys, process, site);
	if (hint && is_same(&hint->identity, &identity)) {
		return hint;
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

static void rank_end(struct hk_rollup_group *group, unsigned keys)
{
	uint64_t all = keys & HK_GROUP_FUNCTION ? group->numbers.total_ns : group->numbers.self_ns;
	uint64_t ns = all - group->rank_before_ns;

	group->rank_most_ns = ns > group->rank_most_ns ? ns : group->rank_most_ns;
	group->rank_before_ns = all;
}

/* Adds the histogram of CELL to that of GROUP. Returns the sum of the added counts. */
static uint64_t add_histogram(struct hk_rollup_group *group, const struct hk_columns_row *cell)
{
	uint64_t *counts = group->histogram.bucket;
	uint64_t counted = 0;

	for (size_t i = 0; i < cell->buckets; i++) {
		uint32_t bucket = cell->bucket[i];
		if (bucket < HK_HISTOGRAM_BUCKETS) {
			counts[bucket] += cell->count[i];
			counted += cell->count[i];
		}
	}
	return counted;
}

/* Returns the sum of the counts of CELL without reading its bucket numbers, for requests without
 * histograms. */
static uint64_t count_calls(const struct hk_columns_row *cell)
{
	uint64_t counted = 0;

	for (size_t i = 0; i < cell->buckets; i++) {
		counted += cell->count[i];
	}
	return counted;
}

static void add_cell(const struct folding *folding, struct slot *slot, int32_t rank,
		     const struct hk_columns_row *cell)
{
	struct hk_rollup_group *group = slot->group;

	if (group->rank != rank) {
		rank_end(group, folding->keys);
		group->rank = rank;
	}
	uint64_t counted =
	    folding->request->no_histograms ? count_calls(cell) : add_histogram(group, cell);
	group->flags |= slot->site->flags;
	hk_report_numbers_add_values(&group->numbers, cell, slot->site, counted);
}

/* ---- processes ---- */

/* Makes room for slot ID. Returns 0 or -ENOMEM. */
static int make_slot(struct folding *folding, uint32_t id)
{
	uint32_t count = folding->slot_count ? folding->slot_count : SLOTS_FLOOR;

	while (count <= id) {
		count *= 2;
	}
	if (count > folding->slot_count) {
		struct slot *slots = realloc(folding->slots, count * sizeof(*slots));
		if (!slots) {
			return -ENOMEM;
		}
		memset(slots + folding->slot_count, 0,
		       (count - folding->slot_count) * sizeof(*slots));
		folding->slots = slots;
		folding->slot_count = count;
	}
	return 0;
}

static int make_room(struct folding *folding, size_t sites)
{
	if (sites > folding->taken_room) {
		uint32_t *taken = realloc(folding->taken, sites * sizeof(*taken));
		if (!taken) {
			return -ENOMEM;
		}
		folding->taken = taken;
		folding->taken_room = sites;
	}
	return 0;
}

/* Replaces the sites in the slots by the requested sites of PROCESS. Returns 0 or -ENOMEM. */
static int take_sites(struct folding *folding, const Hk__Process *process)
{
	int r = make_room(folding, process->n_sites);

	for (size_t i = 0; i < folding->taken_count; i++) {
		folding->slots[folding->taken[i]].site = NULL;
	}
	folding->taken_count = 0;
	for (size_t i = 0; i < process->n_sites && r == 0; i++) {
		const Hk__Site *site = process->sites[i];
		if (i + AHEAD < process->n_sites) {
			__builtin_prefetch(process->sites[i + AHEAD]);
			__builtin_prefetch(process->sites[i + AHEAD / 2]->function);
		}
		if (site->id >= HK_SITES_MAX || !is_site_wanted(folding->request, site)) {
			continue;
		}
		r = make_slot(folding, site->id);
		if (r == 0 && !folding->slots[site->id].site) {
			folding->taken[folding->taken_count++] = site->id;
		}
		if (r == 0) {
			folding->slots[site->id].site = site;
		}
	}
	return r;
}

/* Sets the groups of the slots to those of PROCESS. Returns 0 or -ENOMEM. */
static int take_groups(struct folding *folding, const Hk__Process *process)
{
	struct hk_rollup_group *before = NULL;

	for (size_t i = 0; i < folding->taken_count; i++) {
		struct slot *slot = &folding->slots[folding->taken[i]];
		slot->group = before = group_of(folding, process, slot->site, slot->group, before);
		if (!slot->group) {
			return -ENOMEM;
		}
	}
	return 0;
}

/* Whether calls of equal sites of A and of B belong to one group. */
static bool is_grouped_alike(unsigned keys, const Hk__Process *a, const Hk__Process *b)
{
	return a->role == b->role &&
	       (!(keys & HK_GROUP_RANK) || hk_report_rank_of(a) == hk_report_rank_of(b)) &&
	       (!(keys & HK_GROUP_HOST) || strcmp(a->host, b->host) == 0);
}

/* Sets the slots to PROCESS. DIGEST is that of its sites: if it equals the last one, the sites
 * stay. Returns 0 or -ENOMEM. */
static int take_process(struct folding *folding, const Hk__Process *process, uint64_t digest)
{
	bool known = digest != 0 && digest == folding->digest;
	int r = known ? 0 : take_sites(folding, process);

	if (r == 0 && !(known && is_grouped_alike(folding->keys, folding->process, process))) {
		r = take_groups(folding, process);
	}
	folding->digest = digest;
	folding->process = process;
	return r;
}

static int add_process(struct folding *folding, const Hk__Process *process, uint64_t digest)
{
	struct hk_columns_walk walk = {.columns = process->cells};
	struct hk_columns_row cell;
	uint32_t site;
	int r = take_process(folding, process, digest);
	const int32_t rank = hk_report_rank_of(process);

	while (r == 0 && hk_columns_peek(&walk, &site)) {
		struct slot *slot = site < folding->slot_count ? &folding->slots[site] : NULL;
		if (!slot || !slot->site) {
			hk_columns_skip(&walk);
		} else if (hk_columns_next(&walk, &cell) && cell.calls > 0) {
			add_cell(folding, slot, rank, &cell);
		}
	}
	return r;
}

struct sorted {
	const Hk__Process *process;
	uint64_t digest;
};

static int by_rank(const void *a, const void *b)
{
	int32_t x = hk_report_rank_of(((const struct sorted *)a)->process);
	int32_t y = hk_report_rank_of(((const struct sorted *)b)->process);

	return (x > y) - (x < y);
}

static int fold_calls(struct hk_rollup *fold, const Hk__Snapshot *snapshot,
		      const Hk__SnapshotRequest *request, const uint64_t *digests)
{
	struct folding folding = {
	    .fold = fold, .request = request, .keys = fold->snapshot.fold_keys};
	struct sorted *sorted = malloc((snapshot->n_processes + 1) * sizeof(*sorted));
	int r = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		sorted[i] = (struct sorted){snapshot->processes[i], digests ? digests[i] : 0};
	}
	if (r == 0) {
		qsort(sorted, snapshot->n_processes, sizeof(*sorted), by_rank);
	}
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		if (is_process_wanted(request, sorted[i].process)) {
			r = add_process(&folding, sorted[i].process, sorted[i].digest);
		}
	}
	free(sorted);
	free(folding.slots);
	free(folding.taken);
	return r;
}

/* ---- the message ---- */

static int set_histogram(struct hk_rollup_group *group)
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

static int set_message(struct hk_rollup_group *group, const Hk__SnapshotRequest *request,
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
	message->weight = numbers->weight;
	message->latency_ns = numbers->latency_ns;
	message->total_ns = numbers->total_ns;
	message->self_ns = numbers->self_ns;
	message->outermost_ns = numbers->outermost_ns;
	message->inner_calls = numbers->inner_calls;
	message->bytes = numbers->bytes;
	message->min_ns = numbers->min_ns;
	message->max_ns = numbers->max_ns;
	message->device_ns = numbers->device_ns;
	message->have_device = numbers->have_device;
	message->have_total = numbers->have_total;
	message->have_bytes = numbers->have_bytes;
	message->have_latency = numbers->have_latency;
	message->estimated = numbers->estimated;
	message->rank_most_ns = group->rank_most_ns;
	return request->no_histograms ? 0 : set_histogram(group);
}

static int set_functions(struct hk_rollup *fold, const Hk__SnapshotRequest *request)
{
	struct hk_rollup_group *group, *next;
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

static int set_calls(struct hk_rollup *fold, const Hk__Snapshot *snapshot)
{
	int r = 0;

	fold->calls = malloc((snapshot->n_processes + 1) * sizeof(*fold->calls));
	if (!fold->calls) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		r = hk_process_calls_sum(snapshot->processes[i], &fold->calls[i]);
		fold->processes[i].calls = &fold->calls[i];
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

/* Copies the processes without their cells, and with only the sites of open calls. Returns 0 or
 * -ENOMEM. */
static int set_processes(struct hk_rollup *fold, const Hk__Snapshot *snapshot)
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

int hk_rollup_init(struct hk_rollup *fold, const Hk__Snapshot *snapshot,
		   const Hk__SnapshotRequest *request, const uint64_t *digests)
{
	*fold = (struct hk_rollup){.snapshot = *snapshot};
	fold->snapshot.processes = NULL;
	fold->snapshot.folded = true;
	fold->snapshot.fold_keys = request->fold_keys ? request->fold_keys : HK_GROUP_FUNCTION;
	fold->snapshot.functions = NULL;
	fold->snapshot.n_functions = 0;
	if (fold->snapshot.fold_keys & ~KEYS_ALL) {
		return -EINVAL;
	}
	int r = fold_calls(fold, snapshot, request, digests);
	r = r < 0 ? r : set_functions(fold, request);
	if (request->no_processes) {
		fold->snapshot.n_processes = 0;
	} else {
		r = r < 0 ? r : set_processes(fold, snapshot);
	}
	if (r == 0 && fold->snapshot.fold_keys & HK_GROUP_PROCESS && !request->no_processes) {
		r = set_calls(fold, snapshot);
	}
	if (r < 0) {
		hk_rollup_fini(fold);
	}
	return r;
}

void hk_rollup_fini(struct hk_rollup *fold)
{
	struct hk_rollup_group *group, *next;

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
	free(fold->calls);
	free(fold->sites);
	*fold = (struct hk_rollup){.groups = NULL};
}
