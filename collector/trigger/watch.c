#include "collector/trigger/watch.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "collector/trigger/step_watch.h"
#include "collector/trigger/window.h"
#include "hooks/pattern.h"
#include "ring/segment.h"
#include "trigger/plan.h"
#include "wire/columns.h"

#define UID_BYTES 16u
/* A process that is older at its first look was not watched so far: that look only notes its
 * values. */
#define YOUNG_NS UINT64_C(5000000000)

struct watched_site {
	uint32_t place; /* in the process's list of sites */
	uint8_t wanted; /* conditions that its function matches, as bits */
};

/* A process at its last look. */
struct past {
	uint8_t uid[UID_BYTES];
	uint64_t seen_ns; /* on its node's monotonic clock; 0: not looked at yet */
	struct watched_site *by_id;
	size_t sites, sites_room;
	Hk__Cells *cells; /* rows of wanted sites */
	struct hk_step_watch steps;
	bool dead; /* its death was seen */
	UT_hash_handle hh;
};

struct hk_watch {
	const struct hk_condition *conditions;
	size_t count;
	struct past *past;
	struct hk_watch_saw saw[HK_PLAN_CONDITIONS];
	bool held[HK_PLAN_CONDITIONS]; /* at the last look with a value */
	uint32_t met;		       /* conditions about a function that a process has, as bits */
	struct hk_window window;       /* of the row at hand */
};

struct hk_watch *hk_watch_new(const struct hk_condition *conditions, size_t count)
{
	struct hk_watch *watch = calloc(1, sizeof(*watch));
	if (watch) {
		watch->conditions = conditions;
		watch->count = count < HK_PLAN_CONDITIONS ? count : HK_PLAN_CONDITIONS;
	}
	return watch;
}

static void cells_free(Hk__Cells **cells)
{
	if (*cells) {
		hk__cells__free_unpacked(*cells, NULL);
		*cells = NULL;
	}
}

struct hk_watch *hk_watch_free(struct hk_watch *watch)
{
	struct past *past, *next;
	if (!watch) {
		return NULL;
	}
	HASH_ITER (hh, watch->past, past, next) {
		HASH_DEL(watch->past, past);
		cells_free(&past->cells);
		hk_step_watch_fini(&past->steps);
		free(past->by_id);
		free(past);
	}
	free(watch);
	return NULL;
}

static struct past *past_of(struct hk_watch *watch, const Hk__Process *state)
{
	struct past *past;
	if (state->uid.len != UID_BYTES) {
		return NULL;
	}
	HASH_FIND(hh, watch->past, state->uid.data, UID_BYTES, past);
	if (!past) {
		past = calloc(1, sizeof(*past));
		if (!past) {
			return NULL;
		}
		memcpy(past->uid, state->uid.data, UID_BYTES);
		HASH_ADD(hh, watch->past, uid, UID_BYTES, past);
	}
	return past;
}

/* ---- what a condition saw ---- */

static void note(struct hk_watch *watch, size_t index, double value, int32_t rank,
		 const char *function)
{
	struct hk_watch_saw *saw = &watch->saw[index];
	if (!saw->known || value > saw->value) {
		saw->value = value;
		saw->rank = rank;
		saw->function = function;
		saw->holds = hk_condition_holds(&watch->conditions[index], value);
	}
	saw->known = true;
}

/* ---- sites ---- */

static bool is_about_function(const struct hk_condition *condition)
{
	return condition->kind == HK_CONDITION_LATENCY || condition->kind == HK_CONDITION_ERROR;
}

static uint8_t wanted_of(const struct hk_watch *watch, const Hk__Site *site)
{
	uint8_t bits = 0;
	for (size_t i = 0; i < watch->count; i++) {
		const struct hk_condition *condition = &watch->conditions[i];
		if (is_about_function(condition) &&
		    hk_pattern_match_function(condition->pattern, site->provider, site->function)) {
			bits |= (uint8_t)(1u << i);
		}
	}
	return bits;
}

/* Looks at sites that are new. Returns false without memory. */
static bool learn_sites(struct hk_watch *watch, struct past *past, const Hk__Process *state)
{
	for (; past->sites < state->n_sites; past->sites++) {
		const Hk__Site *site = state->sites[past->sites];
		if (site->id >= HK_SITES_MAX) {
			continue; /* another node's collector may send any number */
		}
		if (site->id >= past->sites_room) {
			size_t room = 2 * (size_t)site->id + 64;
			struct watched_site *by_id =
			    reallocarray(past->by_id, room, sizeof(*by_id));
			if (!by_id) {
				return false;
			}
			memset(by_id + past->sites_room, 0,
			       (room - past->sites_room) * sizeof(*by_id));
			past->by_id = by_id;
			past->sites_room = room;
		}
		uint8_t wanted = wanted_of(watch, site);
		watch->met |= wanted;
		past->by_id[site->id] = (struct watched_site){(uint32_t)past->sites, wanted};
		hk_step_watch_site(&past->steps, site);
	}
	return true;
}

static const char *function_of(const struct past *past, const Hk__Process *state, uint32_t id)
{
	size_t place = past->by_id[id].place;
	const Hk__Site *site = place < state->n_sites ? state->sites[place] : NULL;
	return site && site->id == id ? site->function : "";
}

/* ---- calls ---- */

static void judge_row(struct hk_watch *watch, const struct past *past, const Hk__Process *state,
		      uint32_t site, double elapsed_s)
{
	const struct hk_window *window = &watch->window;
	const char *function = function_of(past, state, site);
	uint8_t wanted = past->by_id[site].wanted;
	for (size_t i = 0; i < watch->count; i++) {
		const struct hk_condition *condition = &watch->conditions[i];
		if (!(wanted & (1u << i))) {
			continue;
		}
		if (condition->kind == HK_CONDITION_LATENCY && window->timed > 0) {
			note(watch, i, hk_window_value(window, condition->statistic), state->rank,
			     function);
		} else if (condition->kind == HK_CONDITION_ERROR && window->calls > 0) {
			/* Fewer than a second is no rate. */
			double seconds = elapsed_s > 1 ? elapsed_s : 1;
			note(watch, i, (double)window->errors / seconds, state->rank, function);
		}
	}
}

/* Judges the calls since the last look, and keeps the values. */
static void look_at_calls(struct hk_watch *watch, struct past *past, const Hk__Process *state,
			  double elapsed_s, bool judge)
{
	struct hk_columns_walk now = {.columns = state->cells}, before = {.columns = past->cells};
	struct hk_columns_builder kept = {0};
	struct hk_columns_row row, old;
	bool have_old = hk_columns_next(&before, &old), complete = true;
	while (hk_columns_next(&now, &row)) {
		uint8_t wanted = row.site < past->sites_room ? past->by_id[row.site].wanted : 0;
		bool step = hk_step_watch_wants(&past->steps, row.site);
		if (!wanted && !step) {
			continue;
		}
		while (have_old && old.site < row.site) {
			have_old = hk_columns_next(&before, &old);
		}
		bool same = have_old && old.site == row.site;
		hk_window_between(&watch->window, &row, same ? &old : NULL);
		if (judge && wanted) {
			judge_row(watch, past, state, row.site, elapsed_s);
		}
		if (step) {
			hk_step_watch_add(&past->steps, &watch->window);
		}
		complete &= hk_columns_add(&kept, &row) == 0;
	}
	if (!complete) {
		hk_columns_drop(&kept);
		return;
	}
	cells_free(&past->cells);
	past->cells = hk_columns_take(&kept);
}

/* ---- findings ---- */

/* Only steps show this one while a job runs. */
static bool is_fail_slow(const struct hk_condition *condition)
{
	return condition->kind == HK_CONDITION_FINDING &&
	       strcmp(condition->finding, "fail-slow") == 0;
}

bool hk_watch_is_report_finding(const struct hk_condition *condition)
{
	return condition->kind == HK_CONDITION_FINDING && !is_fail_slow(condition);
}

void hk_watch_note_finding(struct hk_watch *watch, size_t index, bool found, int32_t rank)
{
	note(watch, index, found ? 1 : 0, rank, "");
}

/* ---- steps ---- */

static void judge_steps(struct hk_watch *watch, struct past *past, const Hk__Process *state)
{
	double longest = hk_step_watch_longest(&past->steps);
	double factor = hk_step_watch_factor(&past->steps);
	double slow = hk_step_watch_is_slow(&past->steps) ? 1 : 0;
	for (size_t i = 0; i < watch->count; i++) {
		enum hk_condition_kind kind = watch->conditions[i].kind;
		if (kind == HK_CONDITION_STEP && longest > 0) {
			note(watch, i, longest, state->rank, "step");
		} else if (kind == HK_CONDITION_STEP_FACTOR && factor > 0) {
			note(watch, i, factor, state->rank, "step");
		} else if (is_fail_slow(&watch->conditions[i]) && factor > 0) {
			note(watch, i, slow, state->rank, "step");
		}
	}
}

/* ---- deaths ---- */

static void look_at_end(struct hk_watch *watch, struct past *past, const Hk__Process *state)
{
	bool oom = state->exit_kind == HK__EXIT_KIND__EXIT_OOM;
	if (past->dead || state->role != HK__ROLE__ROLE_MAIN ||
	    (!oom && state->exit_kind != HK__EXIT_KIND__EXIT_SIGNAL)) {
		return;
	}
	past->dead = true;
	for (size_t i = 0; i < watch->count; i++) {
		const struct hk_condition *condition = &watch->conditions[i];
		struct hk_watch_saw *saw = &watch->saw[i];
		if (condition->kind == HK_CONDITION_SIGNAL && !saw->holds &&
		    (condition->signal == 0 || (!oom && condition->signal == state->exit_code))) {
			*saw = (struct hk_watch_saw){.known = true,
						     .holds = true,
						     .value = oom ? 0 : state->exit_code,
						     .rank = state->rank,
						     .function = ""};
		}
	}
}

/* ---- one look ---- */

void hk_watch_begin(struct hk_watch *watch)
{
	for (size_t i = 0; i < watch->count; i++) {
		watch->saw[i] = (struct hk_watch_saw){.rank = -1, .function = ""};
	}
}

void hk_watch_process(struct hk_watch *watch, const Hk__Process *state)
{
	struct past *past = past_of(watch, state);
	if (!past) {
		return;
	}
	look_at_end(watch, past, state);
	uint64_t seen_ns = state->seen ? state->seen->monotonic_ns : 0;
	uint64_t start_ns = state->start ? state->start->monotonic_ns : 0;
	if (state->role == HK__ROLE__ROLE_LAUNCHER || seen_ns <= past->seen_ns ||
	    !learn_sites(watch, past, state)) {
		return;
	}
	bool first = past->seen_ns == 0;
	uint64_t since_ns = first ? start_ns : past->seen_ns;
	bool judge = !first || seen_ns - start_ns < YOUNG_NS;
	hk_step_watch_begin(&past->steps);
	hk_step_watch_marks(&past->steps, state->step_times);
	look_at_calls(watch, past, state, (double)(seen_ns - since_ns) / 1e9, judge);
	if (judge) {
		judge_steps(watch, past, state);
	}
	past->seen_ns = seen_ns;
}

const struct hk_watch_saw *hk_watch_saw(const struct hk_watch *watch, size_t index)
{
	return &watch->saw[index];
}

bool hk_watch_begins(struct hk_watch *watch, size_t index)
{
	const struct hk_watch_saw *saw = &watch->saw[index];
	bool held = watch->held[index] && watch->conditions[index].kind != HK_CONDITION_SIGNAL;
	if (saw->known) {
		watch->held[index] = saw->holds;
	}
	return saw->holds && !held;
}

uint32_t hk_watch_unseen(const struct hk_watch *watch)
{
	uint32_t bits = 0;
	for (size_t i = 0; i < watch->count; i++) {
		bits |= is_about_function(&watch->conditions[i]) ? 1u << i : 0;
	}
	return bits & ~watch->met;
}
