#include "collector/agreement/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "collector/agreement/rows.h"

#define GROUPS_MAX 256u /* of a job: its ranks may form several of one kind */
#define OF_RANKS " of ranks "

/* One rank's digests of a step. */
struct entry {
	const Hk__Process *process;
	const Hk__Agreed *row;
};

struct entries {
	struct entry *list;
	size_t count;
};

/* The entries of one step, by rank. */
struct step {
	const struct entry *list;
	size_t count;
};

struct value {
	uint64_t digest;
	uint32_t rank;
};

/* ---- ranks ---- */

uint32_t hk_agreement_ranks(const char *text)
{
	const char *found = NULL, *at = text;
	uint32_t count = 0;

	while ((at = strstr(at, OF_RANKS))) {
		found = at += strlen(OF_RANKS);
	}
	while (found && *found) {
		char *end;
		unsigned long first = strtoul(found, &end, 10), last = first;
		if (end != found && *end == '-') {
			found = end + 1;
			last = strtoul(found, &end, 10);
		}
		if (end == found || last < first || last - first > UINT16_MAX ||
		    (*end && *end != ',')) {
			return 0;
		}
		count += (uint32_t)(last - first + 1);
		found = *end ? end + 1 : end;
	}
	return count;
}

static uint64_t start_of(const Hk__Process *process)
{
	return process->start ? process->start->realtime_ns : 0;
}

static int by_rank(const void *a, const void *b)
{
	const Hk__Process *x = *(Hk__Process *const *)a, *y = *(Hk__Process *const *)b;

	if (x->rank != y->rank) {
		return x->rank < y->rank ? -1 : 1;
	}
	return start_of(x) < start_of(y) ? -1 : start_of(x) > start_of(y);
}

/* Sets *RET_LIST to the newest main process of each rank that has rows, by rank. The caller frees
 * it. Returns their number or -ENOMEM. */
static ssize_t ranks_of(Hk__Process *const *processes, size_t count, Hk__Process ***ret_list)
{
	Hk__Process **list = calloc(count + 1, sizeof(*list));
	size_t mains = 0, kept = 0;

	if (!list) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		if (processes[i]->role == HK__ROLE__ROLE_MAIN && processes[i]->rank >= 0 &&
		    processes[i]->n_agreed > 0) {
			list[mains++] = processes[i];
		}
	}
	qsort(list, mains, sizeof(*list), by_rank);
	for (size_t i = 0; i < mains; i++) {
		if (i + 1 == mains || list[i + 1]->rank != list[i]->rank) {
			list[kept++] = list[i];
		}
	}
	*ret_list = list;
	return (ssize_t)kept;
}

/* ---- the rows of a group ---- */

static int compare_steps(const Hk__Agreed *a, const Hk__Agreed *b)
{
	if (a->epoch != b->epoch) {
		return a->epoch < b->epoch ? -1 : 1;
	}
	return a->step < b->step ? -1 : a->step > b->step;
}

static int by_step(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_steps(x->row, y->row);

	return order ? order : x->process->rank < y->process->rank ? -1 : 1;
}

static bool is_valid(const Hk__Agreed *row)
{
	return row->n_digests > 0 && row->n_digests == row->n_sites;
}

/* Takes the rows of GROUP from RANKS. Sets *RET_REPORTING to how many ranks have any. */
static int take_entries(struct entries *entries, const char *group, Hk__Process *const *ranks,
			size_t count, uint32_t *ret_reporting)
{
	size_t room = 0;

	for (size_t i = 0; i < count; i++) {
		room += ranks[i]->n_agreed;
	}
	*entries = (struct entries){.list = calloc(room + 1, sizeof(*entries->list))};
	*ret_reporting = 0;
	for (size_t i = 0; entries->list && i < count; i++) {
		size_t before = entries->count;
		for (size_t k = 0; k < ranks[i]->n_agreed; k++) {
			const Hk__Agreed *row = ranks[i]->agreed[k];
			if (strcmp(row->group, group) == 0 && is_valid(row)) {
				entries->list[entries->count++] =
				    (struct entry){.process = ranks[i], .row = row};
			}
		}
		*ret_reporting += entries->count > before;
	}
	if (!entries->list) {
		return -ENOMEM;
	}
	qsort(entries->list, entries->count, sizeof(*entries->list), by_step);
	return 0;
}

/* Returns the step that begins at entry AT. */
static struct step step_at(const struct entries *entries, size_t at)
{
	struct step step = {.list = entries->list + at};

	while (at + step.count < entries->count &&
	       compare_steps(step.list->row, step.list[step.count].row) == 0) {
		step.count++;
	}
	return step;
}

/* ---- one step ---- */

static bool same_names(const struct step *step)
{
	for (size_t i = 1; i < step->count; i++) {
		if (step->list[i].row->names != step->list->row->names ||
		    step->list[i].row->n_digests != step->list->row->n_digests) {
			return false;
		}
	}
	return true;
}

/* Returns whether all ranks have the same value number AT. */
static bool agrees(const struct step *step, size_t at)
{
	for (size_t i = 1; i < step->count; i++) {
		if (step->list[i].row->digests[at] != step->list->row->digests[at]) {
			return false;
		}
	}
	return true;
}

static bool differs(const struct step *step)
{
	if (!same_names(step)) {
		return true;
	}
	for (size_t i = 0; i < step->list->row->n_digests; i++) {
		if (!agrees(step, i)) {
			return true;
		}
	}
	return false;
}

static int by_digest(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	if (x->digest != y->digest) {
		return x->digest < y->digest ? -1 : 1;
	}
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Splits VALUES, COUNT of them, into the ranks with the most frequent digest and the others. */
static int split(struct value *values, size_t count, Hk__Divergence *to)
{
	size_t most = 0, most_at = 0, second = 0;

	to->odd = calloc(count, sizeof(*to->odd));
	to->others = calloc(count, sizeof(*to->others));
	if (!to->odd || !to->others) {
		return -ENOMEM;
	}
	qsort(values, count, sizeof(*values), by_digest);
	for (size_t at = 0, length; at < count; at += length) {
		for (length = 1;
		     at + length < count && values[at + length].digest == values[at].digest;) {
			length++;
		}
		bool more =
		    length > most || (length == most && values[at].rank < values[most_at].rank);
		second = !more ? (length > second ? length : second) : most;
		most_at = more ? at : most_at;
		most = more ? length : most;
	}
	for (size_t i = 0; i < count; i++) {
		if (i >= most_at && i < most_at + most) {
			to->others[to->n_others++] = values[i].rank;
		} else {
			to->odd[to->n_odd++] = values[i].rank;
		}
	}
	qsort(to->odd, to->n_odd, sizeof(*to->odd), by_number);
	qsort(to->others, to->n_others, sizeof(*to->others), by_number);
	to->tie = second == most;
	return 0;
}

/* The name of a value whose site has not arrived. A row may travel before the sites that it names.
 */
#define UNNAMED "?"

static const char *name_of(const Hk__Process *process, uint32_t site)
{
	for (size_t i = 0; i < process->n_sites; i++) {
		if (process->sites[i]->id == site) {
			return process->sites[i]->function;
		}
	}
	return UNNAMED;
}

/* Describes STEP, at which the ranks differ, in TO. */
static int describe(const struct step *step, uint32_t expected, Hk__Divergence *to)
{
	struct value *values = calloc(step->count, sizeof(*values));
	const struct entry *first = step->list;
	bool named = same_names(step);
	size_t at = 0;

	if (!values) {
		return -ENOMEM;
	}
	for (size_t i = first->row->n_digests; named && i > 0; i--) {
		if (!agrees(step, i - 1)) {
			at = i - 1;
			to->tensors++;
		}
	}
	for (size_t i = 0; i < step->count; i++) {
		const Hk__Agreed *row = step->list[i].row;
		values[i] = (struct value){
		    .digest = named ? row->digests[at] : row->names,
		    .rank = (uint32_t)step->list[i].process->rank,
		};
	}
	to->step = first->row->step;
	to->epoch = first->row->epoch;
	to->of = (uint32_t)first->row->n_digests;
	to->missing = step->count < expected ? expected - (uint32_t)step->count : 0;
	int r = split(values, step->count, to);
	to->site = first->row->sites[at];
	to->site_rank = first->process->rank;
	char *name = named ? strdup(name_of(first->process, to->site)) : NULL;
	free(values);
	to->tensor = name ? name : to->tensor;
	return r < 0 || (named && !name) ? -ENOMEM : 0;
}

static int keep_first(Hk__Agreement *agreement, const struct step *step)
{
	Hk__Divergence *divergence = malloc(sizeof(*divergence));

	if (!divergence) {
		return -ENOMEM;
	}
	hk__divergence__init(divergence);
	int r = describe(step, agreement->expected, divergence);
	if (r < 0) {
		hk__divergence__free_unpacked(divergence, NULL);
		return r;
	}
	agreement->first = divergence;
	return 0;
}

/* Names the value that FIRST tells of, if its site has arrived since. Returns 1 if so, 0, or
 * -ENOMEM. */
static int name_later(Hk__Divergence *first, Hk__Process *const *ranks, size_t count)
{
	const char *name = UNNAMED;

	if (strcmp(first->tensor, UNNAMED) != 0) {
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		name = ranks[i]->rank == first->site_rank ? name_of(ranks[i], first->site) : name;
	}
	if (strcmp(name, UNNAMED) == 0) {
		return 0;
	}
	char *text = strdup(name);
	if (!text) {
		return -ENOMEM;
	}
	free(first->tensor);
	first->tensor = text;
	return 1;
}

/* ---- one group ---- */

static size_t count_steps(const struct entries *entries)
{
	size_t steps = 0;

	for (size_t at = 0; at < entries->count; at += step_at(entries, at).count) {
		steps++;
	}
	return steps;
}

/* Returns the number of the entry behind the last step that all expected ranks have. */
static size_t complete_end(const struct entries *entries, uint32_t expected)
{
	size_t end = 0;

	for (size_t at = 0; at < entries->count;) {
		struct step step = step_at(entries, at);
		at += step.count;
		end = step.count >= expected ? at : end;
	}
	return end;
}

static bool is_news(const Hk__Agreement *agreement, const Hk__Agreed *row)
{
	if (agreement->compared == 0) {
		return true;
	}
	return row->epoch != agreement->last_epoch ? row->epoch > agreement->last_epoch
						   : row->step > agreement->last_step;
}

/* Compares one step. CERTAIN: no more ranks are waited for. */
static int compare_step(Hk__Agreement *agreement, const struct step *step, bool certain)
{
	const Hk__Agreed *row = step->list->row;
	bool complete = step->count >= agreement->expected;
	bool news = complete && is_news(agreement, row);

	if (!news && (agreement->first || !(complete || certain))) {
		return 0;
	}
	bool apart = step->count > 1 && differs(step);
	if (news) {
		agreement->compared++;
		agreement->differing += apart;
		agreement->last_step = row->step;
		agreement->last_epoch = row->epoch;
	}
	int r = apart && !agreement->first ? keep_first(agreement, step) : 0;
	return r < 0 ? r : news || apart;
}

/* Compares what there is of GROUP. Returns 1 if something changed, 0, or -ENOMEM. */
static int compare_group(Hk__Agreement *agreement, Hk__Process *const *ranks, size_t count,
			 int32_t world_size, bool ended)
{
	struct entries entries;
	uint32_t said = hk_agreement_ranks(agreement->group), reporting;
	uint32_t expected = said ? said : world_size > 1 ? (uint32_t)world_size : 1;
	int changed = 0, r = take_entries(&entries, agreement->group, ranks, count, &reporting);

	if (r == 0) {
		expected = reporting > expected ? reporting : expected;
		changed = expected != agreement->expected || reporting != agreement->reporting;
		agreement->expected = expected;
		agreement->reporting = reporting;
	}
	size_t end = r == 0 ? complete_end(&entries, expected) : 0;
	size_t left = r == 0 ? count_steps(&entries) : 0;
	for (size_t at = 0; r == 0 && at < entries.count;) {
		struct step step = step_at(&entries, at);
		size_t kept = hk_rows_steps(step.list->row->n_digests);
		bool certain = ended || at < end || left >= kept;
		int one = compare_step(agreement, &step, certain);
		changed |= one > 0;
		r = one < 0 ? one : 0;
		at += step.count;
		left--;
	}
	free(entries.list);
	if (r == 0 && agreement->first) {
		r = name_later(agreement->first, ranks, count);
	}
	return r < 0 ? r : changed || r > 0;
}

/* ---- all groups ---- */

static Hk__Agreement *find_or_add(Hk__Job *job, const char *group)
{
	for (size_t i = 0; i < job->n_agreements; i++) {
		if (strcmp(job->agreements[i]->group, group) == 0) {
			return job->agreements[i];
		}
	}
	if (job->n_agreements >= GROUPS_MAX) {
		return NULL;
	}
	Hk__Agreement **list = reallocarray(job->agreements, job->n_agreements + 1, sizeof(*list));
	Hk__Agreement *agreement = list ? malloc(sizeof(*agreement)) : NULL;
	job->agreements = list ? list : job->agreements;
	if (!agreement) {
		return NULL;
	}
	hk__agreement__init(agreement);
	char *text = strdup(group);
	if (!text) {
		free(agreement);
		return NULL;
	}
	agreement->group = text;
	return list[job->n_agreements++] = agreement;
}

int hk_agreement_compare(Hk__Job *job, Hk__Process *const *processes, size_t count, bool ended)
{
	Hk__Process **ranks = NULL;
	ssize_t n = ranks_of(processes, count, &ranks);
	int changed = 0, r = n < 0 ? (int)n : 0;

	for (ssize_t i = 0; i < n; i++) {
		for (size_t k = 0; k < ranks[i]->n_agreed; k++) {
			find_or_add(job, ranks[i]->agreed[k]->group);
		}
	}
	for (size_t i = 0; r == 0 && n > 0 && i < job->n_agreements; i++) {
		int one =
		    compare_group(job->agreements[i], ranks, (size_t)n, job->world_size, ended);
		changed |= one > 0;
		r = one < 0 ? one : 0;
	}
	free(ranks);
	return r < 0 ? r : changed;
}
