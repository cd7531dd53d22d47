#include "collector/arrival/window.h"

#include <stdlib.h>

#include "report/wait/collective_wait.h"

#define ENTRY_PARTS 4u	  /* places that an entry takes beside its parts */
#define FIRST_CAPACITY 4u /* of an entry of a communicator whose ranks are not known */

/* ---- sums ---- */

/* Adds the skew of a collective: from its first entry to its last one. */
static void add_skew(struct hk_matcher_kind *kind, const struct hk_wait_parts *parts)
{
	const struct hk_wait_part *first = parts->list, *last = parts->list;

	for (size_t i = 1; i < parts->count; i++) {
		first = parts->list[i].start_ns < first->start_ns ? &parts->list[i] : first;
		last = parts->list[i].start_ns > last->start_ns ? &parts->list[i] : last;
	}
	uint64_t skew_ns = last->start_ns - first->start_ns;
	uint64_t error_ns = first->error_ns + last->error_ns;
	kind->error_ns = error_ns > kind->error_ns ? error_ns : kind->error_ns;
	if (skew_ns <= error_ns) {
		kind->together++;
		return;
	}
	kind->skew_ns += skew_ns;
	kind->longest_skew_ns = skew_ns > kind->longest_skew_ns ? skew_ns : kind->longest_skew_ns;
}

/* Adds what the ranks waited in a collective that is complete. */
static void add_waits(struct hk_matcher *matcher, struct hk_matcher_entry *entry)
{
	struct hk_matcher_kind *kind = entry->kind;
	const struct hk_wait_parts parts = {kind->pattern, entry->parts, entry->count};
	const struct hk_wait_part *awaited = hk_wait_awaited(&parts);
	struct hk_matcher_member *member = NULL;
	uint64_t wait_ns = 0;

	if (entry->count < 2) {
		return;
	}
	matcher->collectives++;
	if (awaited && hk_wait_contradicts(&parts, awaited)) {
		matcher->doubtful++;
		return;
	}
	kind->collectives++;
	add_skew(kind, &parts);
	if (!awaited) {
		return;
	}
	HASH_FIND(hh, kind->comm->members, &awaited->rank, sizeof(awaited->rank), member);
	struct hk_matcher_late *late = &kind->late[member->index];
	for (size_t i = 0; i < parts.count; i++) {
		uint64_t ns = hk_wait_of(parts.pattern, &parts.list[i], awaited);
		wait_ns += ns;
		late->longest_ns = ns > late->longest_ns ? ns : late->longest_ns;
	}
	kind->wait_ns += wait_ns;
	late->rank = awaited->rank;
	late->wait_ns += wait_ns;
	late->times += wait_ns > 0;
}

/* ---- the window ---- */

void hk_matcher_drop(struct hk_matcher *matcher, struct hk_matcher_entry *entry)
{
	matcher->parts -= entry->capacity + ENTRY_PARTS;
	HASH_DEL(matcher->entries, entry);
	free(entry->parts);
	free(entry);
}

static void push_out(struct hk_matcher *matcher, struct hk_matcher_entry *entry)
{
	uint64_t floor = entry->key.number + 1;

	entry->kind->floor = floor > entry->kind->floor ? floor : entry->kind->floor;
	matcher->incomplete++;
	hk_matcher_drop(matcher, entry);
}

/* Pushes out the oldest entries but KEPT until WANTED places are free. Returns whether they are. */
static bool make_room(struct hk_matcher *matcher, size_t wanted,
		      const struct hk_matcher_entry *kept)
{
	struct hk_matcher_entry *entry = matcher->entries;

	while (entry && matcher->parts + wanted > matcher->parts_most) {
		struct hk_matcher_entry *next = entry->hh.next;
		if (entry != kept) {
			push_out(matcher, entry);
		}
		entry = next;
	}
	return matcher->parts + wanted <= matcher->parts_most;
}

struct hk_matcher_entry *hk_matcher_find(const struct hk_matcher *matcher,
					 const struct hk_matcher_kind *kind, uint64_t number)
{
	struct hk_matcher_entry *entry, like = {.key = {kind, number}};

	HASH_FIND(hh, matcher->entries, &like.key, sizeof(like.key), entry);
	return entry;
}

struct hk_matcher_entry *hk_matcher_open(struct hk_matcher *matcher, struct hk_matcher_kind *kind,
					 uint64_t number)
{
	uint32_t expected = kind->comm->expected;
	uint32_t capacity = expected ? expected : FIRST_CAPACITY;

	if (!make_room(matcher, capacity + ENTRY_PARTS, NULL)) {
		return NULL;
	}
	struct hk_matcher_entry *entry = calloc(1, sizeof(*entry));
	if (!entry || !(entry->parts = calloc(capacity, sizeof(*entry->parts)))) {
		free(entry);
		return NULL;
	}
	entry->kind = kind;
	entry->key.kind = kind;
	entry->key.number = number;
	entry->capacity = capacity;
	HASH_ADD(hh, matcher->entries, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry->parts);
		free(entry);
		return NULL;
	}
	matcher->parts += capacity + ENTRY_PARTS;
	return entry;
}

bool hk_matcher_grow(struct hk_matcher *matcher, struct hk_matcher_entry *entry)
{
	uint32_t more = entry->capacity;

	if (entry->count < entry->capacity) {
		return true;
	}
	if (more > HK_MATCHER_RANKS || !make_room(matcher, more, entry)) {
		return false;
	}
	struct hk_wait_part *parts =
	    reallocarray(entry->parts, entry->capacity + more, sizeof(*parts));
	if (!parts) {
		return false;
	}
	entry->parts = parts;
	entry->capacity += more;
	matcher->parts += more;
	return true;
}

void hk_matcher_complete(struct hk_matcher *matcher, struct hk_matcher_entry *entry)
{
	uint32_t expected = entry->kind->comm->expected;

	if (expected > 0 && entry->count >= expected) {
		add_waits(matcher, entry);
		hk_matcher_drop(matcher, entry);
	}
}
