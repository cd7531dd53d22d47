#include "collector/arrival/arrivals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "hooks/hook.h"
#include "report/clock/job_clock.h"
#include "report/wait/pattern.h"

#define NAME_BYTES 128u
#define NO_KEY UINT8_MAX
#define NO_TAG UINT64_MAX
#define TAG_STEP_MOST (UINT64_C(1) << 20)

enum use { USE_NONE = 0, USE_MATCHING, USE_COMM, USE_COLLECTIVE };

struct site {
	uint8_t use;		       /* enum use */
	uint8_t function;	       /* number of a name */
	uint8_t comm, peer, rank, tag; /* places of values; NO_KEY: none */
};

struct key {
	uint64_t comm, function;
};

/* The calls of one function on one communicator. */
struct kind {
	struct key key;
	uint64_t calls;
	uint64_t thread; /* uid of the thread that makes them */
	size_t place;	 /* in the message that is being made, from 1 on; 0: not in it */
	UT_hash_handle hh;
};

/* A communicator that the process created. */
struct comm {
	uint64_t comm;
	int32_t rank;
	bool unknown; /* the process has several ranks there, or its rank is unknown */
	UT_hash_handle hh;
};

struct call {
	uint64_t start_ticks, duration_ns, comm;
	uint64_t tag; /* its number; NO_TAG: calls are counted */
	int32_t peer;
	uint8_t function;
};

struct thread {
	uint64_t uid;
	bool holds;
	struct call held;	/* its newest call, which the next one may contain */
	uint64_t counted_ticks; /* start of the last call that counted */
	UT_hash_handle hh;
};

struct waiting {
	struct kind *kind;
	uint64_t number, start_ticks, duration_ns;
	int32_t peer;
};

struct hk_arrivals {
	struct hk_arrivals_options options;
	uint32_t first, next; /* sites[i] is site first + i; sites from `next` on are new */
	struct site *sites;
	size_t room;
	char functions[HK_ARRIVALS_FUNCTIONS][NAME_BYTES];
	size_t function_count;
	struct kind *kinds;
	struct comm *comms;
	struct thread *threads;
	struct waiting *waiting;
	size_t waiting_count, waiting_room;
	bool tagged; /* calls have tags: they wait thread by thread, not in the order of time */
	uint64_t dropped;
	enum hk_doubt doubt;
	bool doubt_told;
};

struct hk_arrivals *hk_arrivals_new(const struct hk_arrivals_options *options)
{
	struct hk_arrivals *arrivals = calloc(1, sizeof(*arrivals));

	if (arrivals) {
		arrivals->options = *options;
	}
	return arrivals;
}

struct hk_arrivals *hk_arrivals_free(struct hk_arrivals *arrivals)
{
	struct kind *kind, *next_kind;
	struct comm *comm, *next_comm;
	struct thread *thread, *next_thread;

	if (!arrivals) {
		return NULL;
	}
	HASH_ITER (hh, arrivals->kinds, kind, next_kind) {
		HASH_DEL(arrivals->kinds, kind);
		free(kind);
	}
	HASH_ITER (hh, arrivals->comms, comm, next_comm) {
		HASH_DEL(arrivals->comms, comm);
		free(comm);
	}
	HASH_ITER (hh, arrivals->threads, thread, next_thread) {
		HASH_DEL(arrivals->threads, thread);
		free(thread);
	}
	free(arrivals->sites);
	free(arrivals->waiting);
	free(arrivals);
	return NULL;
}

void hk_arrivals_doubt(struct hk_arrivals *arrivals, enum hk_doubt reason)
{
	if (arrivals->doubt == HK_DOUBT_NONE) {
		arrivals->doubt = reason;
	}
}

/* ---- sites ---- */

static uint8_t place_of(const struct hk_chunk_site *site, uint8_t key)
{
	for (uint8_t i = 0; i < site->key_count; i++) {
		if (site->keys[i] == key) {
			return i;
		}
	}
	return NO_KEY;
}

/* Returns what calls of SITE are. Those that may contain collectives are USE_MATCHING. */
static enum use use_of(const struct hk_chunk_site *site)
{
	if (!hk_wait_is_domain(site->domain) || site->key_count == 0) {
		return USE_NONE;
	}
	switch (site->meaning) {
	case HK_MEANING_COLLECTIVE:
		return hk_wait_pattern_of(site->function) == HK_WAIT_NONE ? USE_MATCHING
									  : USE_COLLECTIVE;
	case HK_MEANING_COMM:
		return USE_COMM;
	case HK_MEANING_SEND:
	case HK_MEANING_RECV:
	case HK_MEANING_WAIT:
		return USE_MATCHING;
	default:
		return USE_NONE;
	}
}

/* Returns the number of the name TEXT, or HK_ARRIVALS_FUNCTIONS if there is no room for it. */
static size_t function_of(struct hk_arrivals *arrivals, const char *text)
{
	size_t at = 0, length = strlen(text);

	while (at < arrivals->function_count && strcmp(arrivals->functions[at], text) != 0) {
		at++;
	}
	if (at == arrivals->function_count && at < HK_ARRIVALS_FUNCTIONS) {
		if (length >= NAME_BYTES) {
			return HK_ARRIVALS_FUNCTIONS;
		}
		memcpy(arrivals->functions[at], text, length + 1);
		arrivals->function_count++;
	}
	return at;
}

static struct site describe(struct hk_arrivals *arrivals, const struct hk_chunk_site *from)
{
	struct site site = {.use = (uint8_t)use_of(from),
			    .peer = place_of(from, HK_KEY_PEER),
			    .rank = place_of(from, HK_KEY_RANK),
			    .tag = place_of(from, HK_KEY_TAG)};

	site.comm = place_of(from, site.use == USE_COMM ? HK_KEY_NEW_COMM : HK_KEY_COMM);
	if (site.use == USE_COLLECTIVE) {
		size_t function = function_of(arrivals, from->function);
		if (function == HK_ARRIVALS_FUNCTIONS) {
			hk_arrivals_doubt(arrivals, HK_DOUBT_ROOM);
			site.use = USE_NONE;
		}
		site.function = (uint8_t)function;
	}
	return site;
}

/* Keeps what SITE is. Sites before the first one of use take no memory. */
static bool note_site(struct hk_arrivals *arrivals, const struct hk_chunk_site *from)
{
	struct site site = describe(arrivals, from);

	if (!arrivals->sites && site.use == USE_NONE) {
		return true;
	}
	arrivals->first = arrivals->sites ? arrivals->first : arrivals->next;
	size_t at = arrivals->next - arrivals->first;
	if (at >= arrivals->room) {
		size_t room = arrivals->room ? 2 * arrivals->room : 64;
		struct site *sites = reallocarray(arrivals->sites, room, sizeof(*sites));
		if (!sites) {
			return false;
		}
		arrivals->sites = sites;
		arrivals->room = room;
	}
	arrivals->sites[at] = site;
	return true;
}

bool hk_arrivals_wanted(struct hk_arrivals *arrivals)
{
	struct hk_chunk_site site = {0};

	while (arrivals->next < HK_CHUNK_SITES_MAX &&
	       arrivals->options.site(arrivals->options.context, arrivals->next, &site) == 0 &&
	       note_site(arrivals, &site)) {
		arrivals->next++;
	}
	return arrivals->sites && arrivals->doubt == HK_DOUBT_NONE;
}

/* ---- calls ---- */

static bool has(const struct hk_record *record, uint8_t place)
{
	return place != NO_KEY && place < record->word_count;
}

static struct thread *thread_of(struct hk_arrivals *arrivals, uint64_t uid)
{
	struct thread *thread;

	HASH_FIND(hh, arrivals->threads, &uid, sizeof(uid), thread);
	if (thread || HASH_COUNT(arrivals->threads) >= HK_ARRIVALS_THREADS ||
	    !(thread = calloc(1, sizeof(*thread)))) {
		return thread;
	}
	thread->uid = uid;
	HASH_ADD(hh, arrivals->threads, uid, sizeof(thread->uid), thread);
	if (!thread->hh.tbl) {
		free(thread);
		return NULL;
	}
	return thread;
}

static struct kind *kind_of(struct hk_arrivals *arrivals, const struct key *key, uint64_t thread)
{
	struct kind *kind;

	HASH_FIND(hh, arrivals->kinds, key, sizeof(*key), kind);
	if (kind || HASH_COUNT(arrivals->kinds) >= HK_ARRIVALS_KINDS ||
	    !(kind = calloc(1, sizeof(*kind)))) {
		return kind;
	}
	kind->key = *key;
	kind->thread = thread;
	HASH_ADD(hh, arrivals->kinds, key, sizeof(kind->key), kind);
	if (!kind->hh.tbl) {
		free(kind);
		return NULL;
	}
	return kind;
}

static struct comm *comm_of(const struct hk_arrivals *arrivals, uint64_t number)
{
	struct comm *comm;

	HASH_FIND(hh, arrivals->comms, &number, sizeof(number), comm);
	return comm;
}

/* Notes the process's rank in the communicator that RECORD created. */
static void learn(struct hk_arrivals *arrivals, const struct site *site,
		  const struct hk_record *record)
{
	uint64_t number = has(record, site->comm) ? record->words[site->comm] : 0;
	bool known = has(record, site->rank) && (int32_t)record->words[site->rank] >= 0;
	int32_t rank = known ? (int32_t)record->words[site->rank] : -1;
	struct comm *comm = number ? comm_of(arrivals, number) : NULL;

	if (comm) {
		comm->unknown |= !known || comm->rank != rank;
		return;
	}
	if (number && HASH_COUNT(arrivals->comms) < HK_ARRIVALS_COMMS &&
	    (comm = calloc(1, sizeof(*comm)))) {
		comm->comm = number;
		comm->rank = rank;
		comm->unknown = !known;
		HASH_ADD(hh, arrivals->comms, comm, sizeof(comm->comm), comm);
		if (!comm->hh.tbl) {
			free(comm);
			comm = NULL;
		}
	}
	if (number && !comm) {
		hk_arrivals_doubt(arrivals, HK_DOUBT_ROOM);
	}
}

static bool has_room(struct hk_arrivals *arrivals)
{
	if (arrivals->waiting_count < arrivals->waiting_room) {
		return true;
	}
	size_t room = arrivals->waiting_room ? 2 * arrivals->waiting_room : 256;
	struct waiting *waiting =
	    room > HK_ARRIVALS_WAITING
		? NULL
		: reallocarray(arrivals->waiting, room, sizeof(*arrivals->waiting));
	if (waiting) {
		arrivals->waiting = waiting;
		arrivals->waiting_room = room;
	}
	return waiting != NULL;
}

/* Returns whether TAG may be that of the next call of KIND, and notes it: tags rise by small steps.
 * One that does not was read where there is none. */
static bool is_next(struct kind *kind, uint64_t tag)
{
	bool near = tag <= INT32_MAX && (kind->calls == 0 || tag < kind->calls + TAG_STEP_MOST);

	kind->calls = near && tag >= kind->calls ? tag + 1 : kind->calls;
	return near;
}

/* Numbers the call that THREAD holds, if there is one. */
static void count_held(struct hk_arrivals *arrivals, struct thread *thread)
{
	const struct call *call = &thread->held;
	const struct key key = {call->comm, call->function};
	const struct comm *comm = comm_of(arrivals, call->comm);

	if (!thread->holds) {
		return;
	}
	thread->holds = false;
	thread->counted_ticks = call->start_ticks;
	if (call->comm == 0 || (comm && comm->unknown)) {
		return;
	}
	struct kind *kind = kind_of(arrivals, &key, thread->uid);
	if (!kind || (call->tag == NO_TAG && kind->thread != thread->uid)) {
		hk_arrivals_doubt(arrivals, kind ? HK_DOUBT_THREADS : HK_DOUBT_ROOM);
		return;
	}
	uint64_t number = call->tag == NO_TAG ? kind->calls++ : call->tag;
	if (call->tag != NO_TAG && !is_next(kind, call->tag)) {
		hk_arrivals_doubt(arrivals, HK_DOUBT_THREADS);
		return;
	}
	if (!has_room(arrivals)) {
		arrivals->dropped++;
		return;
	}
	arrivals->waiting[arrivals->waiting_count++] =
	    (struct waiting){kind, number, call->start_ticks, call->duration_ns, call->peer};
}

void hk_arrivals_add(struct hk_arrivals *arrivals, const struct hk_record *record)
{
	if (record->site < arrivals->first || record->site >= arrivals->next || !arrivals->sites ||
	    arrivals->doubt != HK_DOUBT_NONE) {
		return;
	}
	const struct site *site = &arrivals->sites[record->site - arrivals->first];
	struct thread *thread =
	    site->use == USE_NONE ? NULL : thread_of(arrivals, record->thread->uid);
	if (!thread) {
		if (site->use != USE_NONE) {
			hk_arrivals_doubt(arrivals, HK_DOUBT_ROOM);
		}
		return;
	}
	if (thread->holds && record->start_ticks <= thread->held.start_ticks) {
		thread->holds = false; /* it is inside of this call */
	}
	if (thread->counted_ticks > 0 && record->start_ticks <= thread->counted_ticks) {
		hk_arrivals_doubt(arrivals, HK_DOUBT_NESTED);
		return;
	}
	count_held(arrivals, thread);
	if (site->use == USE_COMM && record->kind == HK_CHUNK_KIND_CALL) {
		learn(arrivals, site, record);
	}
	if (site->use == USE_COLLECTIVE && record->kind == HK_CHUNK_KIND_CALL) {
		thread->holds = true;
		thread->held = (struct call){
		    .start_ticks = record->start_ticks,
		    .duration_ns = record->duration_ns,
		    .comm = has(record, site->comm) ? record->words[site->comm] : 0,
		    .tag = has(record, site->tag) ? record->words[site->tag] : NO_TAG,
		    .peer = has(record, site->peer) ? (int32_t)record->words[site->peer] : -1,
		    .function = site->function,
		};
		if (thread->held.tag != NO_TAG) {
			arrivals->tagged = true;
			count_held(arrivals, thread); /* no call of gloo contains another one */
		}
	}
}

void hk_arrivals_end(struct hk_arrivals *arrivals)
{
	for (struct thread *thread = arrivals->threads; thread; thread = thread->hh.next) {
		count_held(arrivals, thread);
	}
}

/* ---- messages ---- */

static bool make_columns(Hk__Arrivals *message, size_t count)
{
	message->kind = calloc(count + 1, sizeof(*message->kind));
	message->number = calloc(count + 1, sizeof(*message->number));
	message->enter_ns = calloc(count + 1, sizeof(*message->enter_ns));
	message->duration_ns = calloc(count + 1, sizeof(*message->duration_ns));
	message->comm = calloc(HK_ARRIVALS_KINDS, sizeof(*message->comm));
	message->function = calloc(HK_ARRIVALS_KINDS, sizeof(char *));
	return message->kind && message->number && message->enter_ns && message->duration_ns &&
	       message->comm && message->function;
}

/* Returns the place of KIND in MESSAGE, from 1 on, or 0 without memory. */
static size_t place_kind(const struct hk_arrivals *arrivals, Hk__Arrivals *message,
			 struct kind *kind)
{
	if (kind->place == 0) {
		char *name = strdup(arrivals->functions[kind->key.function]);
		if (!name) {
			return 0;
		}
		message->comm[message->n_comm++] = kind->key.comm;
		message->function[message->n_function++] = name;
		kind->place = message->n_comm;
	}
	return kind->place;
}

static bool fill(struct hk_arrivals *arrivals, const Hk__Process *state, size_t count,
		 Hk__Arrivals *message)
{
	int64_t before_ns = 0;
	bool filled = true;

	for (size_t i = 0; filled && i < count; i++) {
		const struct waiting *call = &arrivals->waiting[i];
		int64_t ns = hk_report_clock_monotonic_ns(state, call->start_ticks);
		size_t place = place_kind(arrivals, message, call->kind);
		bool root = call->kind->key.comm == HK_COMM_WORLD && call->peer >= 0 &&
			    call->peer == state->rank;
		message->kind[i] = (uint32_t)(2 * (place - 1)) + root;
		message->number[i] = call->number;
		message->enter_ns[i] = (int64_t)((uint64_t)ns - (uint64_t)before_ns);
		message->duration_ns[i] = call->duration_ns;
		before_ns = ns;
		filled = place > 0;
	}
	for (struct kind *kind = arrivals->kinds; kind; kind = kind->hh.next) {
		kind->place = 0;
	}
	message->n_kind = message->n_number = message->n_enter_ns = message->n_duration_ns = count;
	return filled;
}

static bool is_numbered(const struct hk_arrivals *arrivals, const char *function)
{
	size_t at = 0;

	while (at < arrivals->function_count && strcmp(arrivals->functions[at], function) != 0) {
		at++;
	}
	return at < arrivals->function_count;
}

static bool was_called(const Hk__Process *state, uint32_t site)
{
	const Hk__Cells *cells = state->cells;
	size_t low = 0, high = cells ? cells->n_site : 0;

	while (low < high) { /* sites rise */
		size_t middle = low + (high - low) / 2;
		bool below = cells->site[middle] < site;
		low = below ? middle + 1 : low;
		high = below ? high : middle;
	}
	return cells && low < cells->n_site && low < cells->n_calls && cells->site[low] == site &&
	       cells->calls[low] > 0;
}

/* Returns whether calls of SITE are missing: its level is below record. A process without any
 * records has no numbered functions, so a site also counts once it was called. */
static bool lacks_records(const struct hk_arrivals *arrivals, const Hk__Process *state,
			  const Hk__Site *site)
{
	return site->level != HK_LEVEL_DEFAULT && site->level < HK_LEVEL_RECORD &&
	       hk_wait_is_domain(site->domain) &&
	       (is_numbered(arrivals, site->function) ||
		(site->meaning == HK_MEANING_COLLECTIVE &&
		 hk_wait_pattern_of(site->function) != HK_WAIT_NONE &&
		 was_called(state, site->id)));
}

/* Returns whether the governor set the level of a numbered function below record. It may have set
 * it back since. */
static bool was_lowered(const struct hk_arrivals *arrivals, const Hk__GovernorStep *step)
{
	const char *colon = strrchr(step->pattern, ':');

	return colon && step->from != step->to && step->to < HK_LEVEL_RECORD &&
	       is_numbered(arrivals, colon + 1);
}

/* Stops numbering if calls of a function were not all recorded. */
static void check_levels(struct hk_arrivals *arrivals, const Hk__Process *state)
{
	bool missing = false;

	if (arrivals->doubt != HK_DOUBT_NONE) {
		return;
	}
	for (size_t i = 0; !missing && i < state->n_sites; i++) {
		missing = lacks_records(arrivals, state, state->sites[i]);
	}
	for (size_t i = 0; !missing && i < state->n_governor; i++) {
		missing = was_lowered(arrivals, state->governor[i]);
	}
	if (missing) {
		hk_arrivals_doubt(arrivals, HK_DOUBT_LEVEL);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	return (x->start_ticks > y->start_ticks) - (x->start_ticks < y->start_ticks);
}

int hk_arrivals_take(struct hk_arrivals *arrivals, const Hk__Process *state, size_t most,
		     Hk__Arrivals **ret_message)
{
	size_t count = arrivals->waiting_count < most ? arrivals->waiting_count : most;

	check_levels(arrivals, state);
	if (arrivals->tagged && count > 0) {
		qsort(arrivals->waiting, arrivals->waiting_count, sizeof(*arrivals->waiting),
		      by_start);
	}
	/* The doubt is about calls behind those that wait. */
	bool doubt = count == arrivals->waiting_count && arrivals->doubt != HK_DOUBT_NONE;

	if (count == 0 && (!doubt || arrivals->doubt_told)) {
		return 0;
	}
	Hk__Arrivals *message = malloc(sizeof(*message));
	if (!message) {
		return -ENOMEM;
	}
	hk__arrivals__init(message);
	message->process.data = malloc(state->uid.len + 1);
	if (!message->process.data || !make_columns(message, count) ||
	    !fill(arrivals, state, count, message)) {
		hk__arrivals__free_unpacked(message, NULL);
		return -ENOMEM;
	}
	message->process.len = state->uid.len;
	memcpy(message->process.data, state->uid.data, state->uid.len);
	message->dropped = arrivals->dropped;
	arrivals->dropped = 0;
	message->doubt = doubt ? (uint32_t)arrivals->doubt : HK_DOUBT_NONE;
	arrivals->doubt_told |= doubt;
	arrivals->waiting_count -= count;
	if (arrivals->waiting_count > 0) {
		memmove(arrivals->waiting, arrivals->waiting + count,
			arrivals->waiting_count * sizeof(*arrivals->waiting));
	}
	*ret_message = message;
	return 1;
}
