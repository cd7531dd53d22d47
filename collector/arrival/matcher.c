#include "collector/arrival/matcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/arrival/matcher_tables.h"
#include "collector/arrival/window.h"
#include "hooks/hook.h"
#include "report/clock/clock_map.h"
#include "report/wait/doubt.h"

#define NAME_BYTES 128u		       /* of a function */
#define LONGEST_NS (UINT64_C(1) << 61) /* sums of a few do not overflow */
#define SEEN_CALLS 64u		       /* bits of `seen` */

/* ---- tables ---- */

struct hk_matcher *hk_matcher_free(struct hk_matcher *matcher)
{
	struct hk_matcher_entry *entry, *next_entry;
	struct hk_matcher_comm *comm, *next_comm;
	struct hk_matcher_member *member, *next_member;
	struct hk_matcher_kind *kind;

	if (!matcher) {
		return NULL;
	}
	HASH_ITER (hh, matcher->entries, entry, next_entry) {
		HASH_DEL(matcher->entries, entry);
		free(entry->parts);
		free(entry);
	}
	HASH_ITER (hh, matcher->comms, comm, next_comm) {
		HASH_ITER (hh, comm->members, member, next_member) {
			HASH_DEL(comm->members, member);
			free(member);
		}
		HASH_DEL(matcher->comms, comm);
		free(comm);
	}
	while ((kind = matcher->kinds)) {
		matcher->kinds = kind->next;
		free(kind->function);
		free(kind->progress);
		free(kind->late);
		free(kind);
	}
	free(matcher);
	return NULL;
}

static struct hk_matcher_comm *comm_of(struct hk_matcher *matcher, uint64_t number)
{
	struct hk_matcher_comm *comm;

	HASH_FIND(hh, matcher->comms, &number, sizeof(number), comm);
	if (comm || HASH_COUNT(matcher->comms) >= HK_MATCHER_COMMS ||
	    !(comm = calloc(1, sizeof(*comm)))) {
		return comm;
	}
	comm->comm = number;
	comm->expected =
	    number == HK_COMM_WORLD && matcher->world > 0 ? (uint32_t)matcher->world : 0;
	HASH_ADD(hh, matcher->comms, comm, sizeof(comm->comm), comm);
	if (!comm->hh.tbl) {
		free(comm);
		return NULL;
	}
	return comm;
}

/* Returns the member of COMM with RANK, or NULL without memory or room for it. */
static struct hk_matcher_member *member_of(struct hk_matcher *matcher, struct hk_matcher_comm *comm,
					   int32_t rank)
{
	struct hk_matcher_member *member;

	HASH_FIND(hh, comm->members, &rank, sizeof(rank), member);
	if (member || matcher->members >= HK_MATCHER_MEMBERS ||
	    !(member = calloc(1, sizeof(*member)))) {
		return member;
	}
	member->rank = rank;
	member->index = HASH_COUNT(comm->members);
	HASH_ADD(hh, comm->members, rank, sizeof(member->rank), member);
	if (!member->hh.tbl) {
		free(member);
		return NULL;
	}
	matcher->members++;
	return member;
}

static struct hk_matcher_kind *kind_of(struct hk_matcher *matcher, uint64_t number,
				       const char *function)
{
	struct hk_matcher_kind *kind = matcher->kinds;

	while (kind && (kind->comm->comm != number || strcmp(kind->function, function) != 0)) {
		kind = kind->next;
	}
	if (kind || matcher->kind_count >= HK_MATCHER_KINDS || number == 0 ||
	    strlen(function) >= NAME_BYTES || hk_wait_pattern_of(function) == HK_WAIT_NONE) {
		return kind;
	}
	kind = calloc(1, sizeof(*kind));
	struct hk_matcher_comm *comm = kind ? comm_of(matcher, number) : NULL;
	char *name = comm ? strdup(function) : NULL;
	if (!name) {
		free(kind);
		return NULL;
	}
	kind->comm = comm;
	kind->function = name;
	kind->pattern = hk_wait_pattern_of(function);
	kind->next = matcher->kinds;
	matcher->kinds = kind;
	matcher->kind_count++;
	return kind;
}

/* Makes room for the member of KIND with INDEX. Returns false without it. */
static bool member_room(struct hk_matcher *matcher, struct hk_matcher_kind *kind, uint32_t index)
{
	size_t room = kind->room ? kind->room : 8;

	while (room <= index) {
		room *= 2;
	}
	if (index < kind->room) {
		return true;
	}
	if (matcher->room + room - kind->room > HK_MATCHER_MEMBERS) {
		return false;
	}
	struct hk_matcher_progress *progress =
	    reallocarray(kind->progress, room, sizeof(*progress));
	kind->progress = progress ? progress : kind->progress;
	struct hk_matcher_late *late =
	    progress ? reallocarray(kind->late, room, sizeof(*late)) : NULL;
	if (!late) {
		return false;
	}
	kind->late = late;
	memset(progress + kind->room, 0, (room - kind->room) * sizeof(*progress));
	memset(late + kind->room, 0, (room - kind->room) * sizeof(*late));
	matcher->room += room - kind->room;
	kind->room = room;
	return true;
}

static void seed(struct hk_matcher *matcher, const Hk__WaitSum *sum)
{
	struct hk_matcher_kind *kind = kind_of(matcher, sum->comm, sum->function);

	if (!kind) {
		matcher->other_ns += sum->wait_ns;
		return;
	}
	kind->collectives = sum->collectives;
	kind->together = sum->together;
	kind->wait_ns = sum->wait_ns;
	kind->skew_ns = sum->skew_ns;
	kind->longest_skew_ns = sum->longest_skew_ns;
	kind->error_ns = sum->error_ns;
	for (size_t i = 0; i < sum->n_late && i < HK_MATCHER_LATE; i++) {
		const Hk__LateRank *late = sum->late[i];
		struct hk_matcher_member *member =
		    late->rank >= 0 ? member_of(matcher, kind->comm, late->rank) : NULL;
		if (member && member_room(matcher, kind, member->index)) {
			kind->late[member->index] = (struct hk_matcher_late){
			    late->rank, late->times, late->wait_ns, late->longest_ns};
		}
	}
}

struct hk_matcher *hk_matcher_new(size_t parts, const Hk__Waits *before)
{
	struct hk_matcher *matcher = calloc(1, sizeof(*matcher));

	if (!matcher) {
		return NULL;
	}
	matcher->parts_most = parts;
	matcher->doubt_rank = -1;
	for (size_t i = 0; before && i < before->n_sums && i < HK_MATCHER_SUMS; i++) {
		seed(matcher, before->sums[i]);
	}
	if (before) {
		matcher->collectives = before->collectives;
		matcher->doubtful = before->doubtful;
		matcher->incomplete = before->incomplete;
		matcher->late = before->late;
		matcher->unsure = before->unsure;
		matcher->dropped = before->dropped;
		matcher->clockless = before->clockless;
		matcher->other_ns += before->other_ns;
		matcher->doubt = before->doubt;
		matcher->doubt_rank = before->doubt_rank;
		matcher->unnumbered = before->doubt != HK_DOUBT_NONE; /* reported once only */
	}
	return matcher;
}

/* ---- communicators ---- */

void hk_matcher_set_world(struct hk_matcher *matcher, int32_t ranks)
{
	struct hk_matcher_comm *comm;
	uint64_t number = HK_COMM_WORLD;

	if (ranks > 0 && ranks <= HK_MATCHER_RANKS && ranks != matcher->world) {
		matcher->world = ranks;
		HASH_FIND(hh, matcher->comms, &number, sizeof(number), comm);
		if (comm) {
			comm->expected = (uint32_t)ranks;
		}
	}
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void note_reason(struct hk_matcher *matcher, int32_t rank, uint32_t doubt)
{
	if (matcher->doubt == HK_DOUBT_NONE) {
		matcher->doubt = doubt;
		matcher->doubt_rank = rank;
	}
}

/* Makes the collectives of COMM unsure, those under way included. */
static void give_up(struct hk_matcher *matcher, struct hk_matcher_comm *comm)
{
	struct hk_matcher_entry *entry, *next;

	HASH_ITER (hh, matcher->entries, entry, next) {
		if (entry->kind->comm == comm) {
			matcher->unsure++;
			hk_matcher_drop(matcher, entry);
		}
	}
	comm->unsure = true;
}

/* Makes the collectives of COMM unsure for good, because of DOUBT about RANK. */
static void end_comm(struct hk_matcher *matcher, struct hk_matcher_comm *comm, int32_t rank,
		     uint32_t doubt)
{
	give_up(matcher, comm);
	comm->ended = true;
	note_reason(matcher, rank, doubt);
}

/* Takes the sums of COMM back: its collectives count as unsure. */
static void retract(struct hk_matcher *matcher, const struct hk_matcher_comm *comm)
{
	for (struct hk_matcher_kind *kind = matcher->kinds; kind; kind = kind->next) {
		if (kind->comm != comm) {
			continue;
		}
		uint64_t charged = matcher->collectives > matcher->doubtful
				       ? matcher->collectives - matcher->doubtful
				       : 0;
		charged = least(kind->collectives, charged);
		matcher->collectives -= charged;
		matcher->unsure += charged;
		kind->collectives = kind->together = kind->wait_ns = 0;
		kind->skew_ns = kind->longest_skew_ns = kind->error_ns = 0;
		if (kind->late) {
			memset(kind->late, 0, kind->room * sizeof(*kind->late));
		}
	}
}

/* Takes the ranks of KIND's communicator that were seen as all of its ranks, once each of them has
 * begun enough calls. A communicator with one rank that was seen is not settled: other ranks may
 * only be late. Nor is one while some rank's calls have no numbers: the rank may belong to it, and
 * will not be seen. */
static void settle_comm(struct hk_matcher *matcher, struct hk_matcher_kind *kind)
{
	struct hk_matcher_comm *comm = kind->comm;
	struct hk_matcher_entry *entry, *next;

	if (comm->expected > 0 || comm->comm == HK_COMM_WORLD || comm->seen < 2 ||
	    kind->ready < comm->seen) {
		return;
	}
	if (matcher->unnumbered) {
		give_up(matcher, comm);
		return;
	}
	comm->expected = comm->seen;
	HASH_ITER (hh, matcher->entries, entry, next) {
		if (entry->kind->comm == comm) {
			hk_matcher_complete(matcher, entry);
		}
	}
}

/* Begins the calls of COMM again: a process has taken the place of another one. What was under way
 * is incomplete, and calls of the processes so far are late from now on. */
static void begin_again(struct hk_matcher *matcher, struct hk_matcher_comm *comm)
{
	struct hk_matcher_entry *entry, *next;

	HASH_ITER (hh, matcher->entries, entry, next) {
		if (entry->kind->comm == comm) {
			matcher->incomplete++;
			hk_matcher_drop(matcher, entry);
		}
	}
	for (struct hk_matcher_kind *kind = matcher->kinds; kind; kind = kind->next) {
		if (kind->comm == comm) {
			kind->begun = kind->floor = 0;
			kind->ready = 0;
			memset(kind->progress, 0, kind->room * sizeof(*kind->progress));
		}
	}
	for (struct hk_matcher_member *member = comm->members; member; member = member->hh.next) {
		member->replaced = member->owner != 0;
	}
	comm->beginnings++;
	comm->seen = 0;
	comm->expected = comm->comm == HK_COMM_WORLD ? comm->expected : 0;
	comm->unsure = false;
	matcher->unnumbered &= comm->comm != HK_COMM_WORLD; /* its process was replaced */
}

/* Returns whether OWNER was MEMBER's process before another one replaced it. */
static bool was_replaced(const struct hk_matcher_member *member, uint64_t owner)
{
	size_t i = 0;

	while (i < HK_MATCHER_BEFORE && member->before[i] != owner) {
		i++;
	}
	return i < HK_MATCHER_BEFORE;
}

/* Returns whether the process OWNER may speak for MEMBER of COMM. */
static bool admit(struct hk_matcher *matcher, struct hk_matcher_comm *comm,
		  struct hk_matcher_member *member, uint64_t owner)
{
	if (member->owner == owner) {
		return !member->replaced;
	}
	if (comm->ended) {
		return true;
	}
	bool replaces = member->owner != 0 && !member->replaced;
	if (was_replaced(member, owner) ||
	    (replaces && comm->beginnings >= HK_MATCHER_BEGINNINGS)) {
		end_comm(matcher, comm, member->rank, HK_DOUBT_RANKS);
		return true;
	}
	if (replaces) {
		begin_again(matcher, comm);
	}
	if (member->owner != 0) {
		memmove(member->before + 1, member->before,
			(HK_MATCHER_BEFORE - 1) * sizeof(member->before[0]));
		member->before[0] = member->owner;
	}
	member->owner = owner;
	member->replaced = false;
	comm->seen++;
	if (comm->comm != HK_COMM_WORLD && comm->expected > 0) {
		/* It was settled without this rank: what was charged may be another rank's. */
		retract(matcher, comm);
		end_comm(matcher, comm, member->rank, HK_DOUBT_MEMBER);
	}
	return true;
}

/* Notes that later calls of CALLER are not numbered: collectives with it are not matched. */
static void note_doubt(struct hk_matcher *matcher, const struct hk_matcher_caller *caller,
		       uint32_t doubt)
{
	struct hk_matcher_comm *world = comm_of(matcher, HK_COMM_WORLD);
	struct hk_matcher_member *member =
	    world && caller->rank < matcher->world ? member_of(matcher, world, caller->rank) : NULL;

	if (member && was_replaced(member, caller->owner)) {
		return; /* none of its calls is matched any more */
	}
	if (member) {
		admit(matcher, world, member, caller->owner);
	}
	for (struct hk_matcher_comm *comm = matcher->comms; comm; comm = comm->hh.next) {
		HASH_FIND(hh, comm->members, &caller->rank, sizeof(caller->rank), member);
		comm->unsure |= member && member->owner == caller->owner && !member->replaced;
	}
	matcher->unnumbered = true;
	note_reason(matcher, caller->rank, doubt);
}

/* ---- messages ---- */

/* A kind of a message, and its caller there. KIND is NULL if there is no room for it. */
struct place {
	bool looked_up; /* at the first call */
	struct hk_matcher_kind *kind;
	const struct hk_matcher_member *member;
	bool late;
};

static bool is_valid(const Hk__Arrivals *message)
{
	size_t count = message->n_kind;

	if (message->n_number != count || message->n_enter_ns != count ||
	    message->n_duration_ns != count || message->n_comm != message->n_function ||
	    message->n_comm > HK_MATCHER_KINDS) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (message->kind[i] / 2 >= message->n_comm) {
			return false;
		}
	}
	return true;
}

static bool is_outside(const struct hk_matcher *matcher, const struct hk_matcher_caller *caller,
		       uint64_t comm)
{
	return comm == HK_COMM_WORLD && matcher->world > 0 && caller->rank >= matcher->world;
}

static struct place find_place(struct hk_matcher *matcher, const struct hk_matcher_caller *caller,
			       uint64_t comm, const char *function)
{
	struct place place = {.looked_up = true};

	if (is_outside(matcher, caller, comm)) {
		return place;
	}
	place.kind = kind_of(matcher, comm, function);
	struct hk_matcher_member *member =
	    place.kind ? member_of(matcher, place.kind->comm, caller->rank) : NULL;

	if (!member || !member_room(matcher, place.kind, member->index)) {
		place.kind = NULL;
		return place;
	}
	place.member = member;
	place.late = !admit(matcher, place.kind->comm, member, caller->owner);
	return place;
}

static struct hk_wait_part make_part(const struct hk_matcher_caller *caller, int64_t enter_ns,
				     uint64_t duration_ns)
{
	struct hk_wait_part part = {.rank = caller->rank};

	part.start_ns = (uint64_t)enter_ns;
	if (caller->map) {
		int64_t root_ns = hk_report_map_root_ns(caller->map, enter_ns);
		part.start_ns = root_ns > 0 ? least((uint64_t)root_ns, LONGEST_NS) : 0;
		part.error_ns = least(hk_report_map_error(caller->map, enter_ns, enter_ns).bound_ns,
				      LONGEST_NS);
	}
	part.end_ns = part.start_ns + least(duration_ns, LONGEST_NS);
	return part;
}

/* Returns whether call NUMBER came before, or is too old to tell. Of the last 64 numbers each may
 * come once, in any order: several threads of a process may make these calls. */
static bool came(const struct hk_matcher_progress *progress, uint64_t number)
{
	uint64_t back = progress->next - 1 - number;

	return number < progress->next && (back >= SEEN_CALLS || (progress->seen >> back & 1) != 0);
}

/* Notes that call NUMBER came, whose number is not the highest one if it is below `next`. */
static void note_seen(struct hk_matcher_progress *progress, uint64_t number)
{
	uint64_t step = number + 1 - progress->next;

	if (number < progress->next) {
		progress->seen |= UINT64_C(1) << (progress->next - 1 - number);
	} else {
		progress->seen = step < SEEN_CALLS ? progress->seen << step | 1 : 1;
		progress->next = number + 1;
	}
}

/* Notes that a member of KIND has begun call NUMBER. Its calls are counted from the first one in
 * this matcher, as a matcher may begin in the middle of a job. */
static void advance(struct hk_matcher_kind *kind, struct hk_matcher_progress *progress,
		    uint64_t number)
{
	bool was_ready = progress->next >= progress->first + HK_MATCHER_SETTLED;

	progress->first = progress->next == 0 ? number : progress->first;
	note_seen(progress, number);
	kind->ready += !was_ready && progress->next >= progress->first + HK_MATCHER_SETTLED;
}

/* Adds one call, whose time is valid. */
static void add(struct hk_matcher *matcher, const struct place *place, uint64_t number,
		const struct hk_wait_part *part)
{
	struct hk_matcher_kind *kind = place->kind;
	struct hk_matcher_progress *progress = &kind->progress[place->member->index];

	if (place->late || came(progress, number) || number < kind->floor) {
		matcher->late++;
		return;
	}
	advance(kind, progress, number);
	bool first = number >= kind->begun;
	kind->begun = first ? number + 1 : kind->begun;
	if (kind->comm->unsure) {
		matcher->unsure += first;
		return;
	}
	struct hk_matcher_entry *entry = hk_matcher_find(matcher, kind, number);
	entry = entry ? entry : hk_matcher_open(matcher, kind, number);
	if (!entry || !hk_matcher_grow(matcher, entry)) {
		matcher->dropped++;
		return;
	}
	entry->parts[entry->count++] = *part;
	hk_matcher_complete(matcher, entry);
	settle_comm(matcher, kind);
}

static void add_calls(struct hk_matcher *matcher, const struct hk_matcher_caller *caller,
		      const Hk__Arrivals *message, struct place *places)
{
	uint64_t enter_ns = 0;

	for (size_t i = 0; i < message->n_kind; i++) {
		uint32_t kind = message->kind[i] / 2;
		struct place *place = &places[kind];
		if (!place->looked_up) {
			*place = find_place(matcher, caller, message->comm[kind],
					    message->function[kind]);
		}
		enter_ns += (uint64_t)message->enter_ns[i];
		if (!place->kind || enter_ns >= LONGEST_NS || message->number[i] >= LONGEST_NS) {
			matcher->dropped++;
			continue;
		}
		if (!caller->has_clock) {
			matcher->clockless++;
			continue;
		}
		struct hk_wait_part part =
		    make_part(caller, (int64_t)enter_ns, message->duration_ns[i]);
		part.is_root = message->kind[i] % 2;
		add(matcher, place, message->number[i], &part);
	}
}

int hk_matcher_take(struct hk_matcher *matcher, const struct hk_matcher_caller *caller,
		    const Hk__Arrivals *message)
{
	if (!is_valid(message) || caller->rank < 0 || caller->rank >= HK_MATCHER_RANKS) {
		return -EBADMSG;
	}
	struct place *places = calloc(message->n_comm + 1, sizeof(*places));
	if (!places) {
		return -ENOMEM;
	}
	add_calls(matcher, caller, message, places);
	free(places);
	matcher->dropped += message->dropped;
	if (message->doubt != HK_DOUBT_NONE) {
		note_doubt(matcher, caller, message->doubt);
	}
	return 0;
}
