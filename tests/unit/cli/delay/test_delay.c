/* Delay costs and the critical path of made-up histories, beside a model that looks at each tick of
 * time, and spreads costs forwards: what each wait was caused by is known from the waits before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/delay/delay.h"
#include "cli/delay/path.h"

#define RANKS_MOST 6
#define TICKS 20000
#define BASE 1000u /* ns before the first tick; a tick is 1 ns */
#define FUNCTIONS 7
#define NONE FUNCTIONS
#define KEYS ((FUNCTIONS + 1) * (FUNCTIONS + 2))
#define CAUSES (RANKS_MOST * KEYS)
#define WAITS_MOST 1500
#define MEETINGS_MOST 8000
#define SEEDS 60
#define ROUNDS 40

enum { MPI_BARRIER, MPI_SEND, MPI_RECV, LOAD, READ, SOLVE, FORWARD };
static const struct hk_activity functions[FUNCTIONS] = {
    {.function = "MPI_Barrier", .kind = HK_WORK_COMM},
    {.function = "MPI_Send", .kind = HK_WORK_COMM},
    {.function = "MPI_Recv", .kind = HK_WORK_COMM},
    {.function = "load", .kind = HK_WORK_CALL},
    {.function = "read", .kind = HK_WORK_CALL},
    {.function = "solve", .kind = HK_WORK_CALL},
    {.function = "forward", .kind = HK_WORK_OWN},
};

struct waited {
	int rank, awaited, from, start, until;
};

/* A program while it is made up: its history, and what each rank did in each tick. */
struct model {
	struct hk_history history;
	uint64_t seed;
	int ranks, now[RANKS_MOST], last[RANKS_MOST], gap[RANKS_MOST];
	int key[RANKS_MOST][TICKS];  /* of functions and of gaps; -1: not known yet */
	int wait[RANKS_MOST][TICKS]; /* number, or -1 */
	struct waited waits[WAITS_MOST];
	int wait_count, joint;
	struct {
		int x, y, left;
	} meetings[MEETINGS_MOST];
	int meeting_count;
};

static int chance(struct model *model, int bound)
{
	model->seed = model->seed * 6364136223846793005u + 1442695040888963407u;
	return (int)((model->seed >> 33) % (uint64_t)bound);
}

static int key_of_gap(int before, int after)
{
	return FUNCTIONS + 1 + before * (FUNCTIONS + 1) + after;
}

static struct model *model_new(int ranks, uint64_t seed)
{
	struct model *model = calloc(1, sizeof(*model));
	assert_non_null(model);
	assert_int_equal(hk_history_init(&model->history, (size_t)ranks), 0);
	for (int i = 0; i < FUNCTIONS; i++) {
		assert_int_equal(hk_history_activity(&model->history, &functions[i]), i);
	}
	model->ranks = ranks;
	model->seed = seed;
	memset(model->wait, -1, sizeof(model->wait));
	for (int i = 0; i < ranks; i++) {
		model->history.lanes[i].rank = i;
		model->history.lanes[i].begin_ns = BASE;
		model->last[i] = NONE;
	}
	return model;
}

static void model_free(struct model *model)
{
	hk_history_fini(&model->history);
	free(model);
}

/* RANK computes for TICKS, outside of calls. */
static void own(struct model *model, int rank, int ticks)
{
	model->now[rank] += ticks;
	assert_true(model->now[rank] < TICKS);
}

/* RANK is in FUNCTION until END. */
static void call(struct model *model, int rank, int function, int end)
{
	assert_true(end < TICKS);
	for (int tick = model->gap[rank]; tick < model->now[rank]; tick++) {
		model->key[rank][tick] = key_of_gap(model->last[rank], function);
	}
	for (int tick = model->now[rank]; tick < end; tick++) {
		model->key[rank][tick] = function;
	}
	assert_int_equal(hk_history_piece(&model->history, (size_t)rank, (uint32_t)function,
					  BASE + (uint64_t)model->now[rank], BASE + (uint64_t)end),
			 0);
	model->now[rank] = model->gap[rank] = end;
	model->last[rank] = function;
}

static void meet(struct model *model, int x, int y, int left)
{
	assert_true(model->meeting_count < MEETINGS_MOST);
	model->meetings[model->meeting_count].x = x;
	model->meetings[model->meeting_count].y = y;
	model->meetings[model->meeting_count++].left = left;
}

static int met(const struct model *model, int x, int y)
{
	int last = 0;
	for (int i = 0; i < model->meeting_count; i++) {
		bool same = (model->meetings[i].x == x && model->meetings[i].y == y) ||
			    (model->meetings[i].x == y && model->meetings[i].y == x);
		last = same && model->meetings[i].left > last ? model->meetings[i].left : last;
	}
	return last;
}

/* Adds a wait of WAITED, whose `from` is found here. LEFT: when both had left their calls. GROUP:
 * of a barrier, or 0. */
static void wait(struct model *model, struct waited waited, int left, unsigned group)
{
	const struct hk_lane_wait added = {
	    .start_ns = BASE + (uint64_t)waited.start,
	    .until_ns = BASE + (uint64_t)waited.until,
	    .aligned_ns = BASE + (uint64_t)left,
	    .lane = (uint32_t)waited.rank,
	    .awaited = (uint32_t)waited.awaited,
	    .comm = group,
	    .joint = (uint32_t)model->joint,
	    .certain = waited.until > waited.start,
	};
	assert_int_equal(hk_history_wait(&model->history, &added), 0);
	if (!added.certain) {
		return;
	}
	assert_true(model->wait_count < WAITS_MOST);
	waited.from = met(model, waited.rank, waited.awaited);
	waited.from = waited.from < waited.start ? waited.from : waited.start;
	for (int tick = waited.start; tick < waited.until; tick++) {
		model->wait[waited.rank][tick] = model->wait_count;
	}
	model->waits[model->wait_count++] = waited;
}

/* The ranks of GROUP, a set of bits, meet in a barrier. */
static void barrier(struct model *model, unsigned group)
{
	int enter[RANKS_MOST] = {0}, last = -1;
	for (int i = 0; i < model->ranks; i++) {
		enter[i] = model->now[i];
		last = group & 1u << i && (last < 0 || enter[i] > enter[last]) ? i : last;
	}
	int left = enter[last] + 1 + chance(model, 3);
	model->joint++;
	for (int i = 0; i < model->ranks; i++) {
		if (group & 1u << i && i != last) {
			wait(model, (struct waited){i, last, 0, enter[i], enter[last]}, left,
			     group);
		}
	}
	for (int i = 0; i < model->ranks; i++) {
		if (group & 1u << i) {
			call(model, i, MPI_BARRIER, left);
		}
		for (int k = 0; k < i; k++) {
			if (group & 1u << i && group & 1u << k) {
				meet(model, i, k, left);
			}
		}
	}
}

/* FROM sends to TO, which waits for it. */
static void message(struct model *model, int from, int to)
{
	int sent = model->now[from], start = model->now[to];
	int send_end = sent + 1 + chance(model, 4);
	int end = (sent > start ? sent : start) + 1 + chance(model, 4);
	int left = end > send_end ? end : send_end;
	if (sent > start) {
		wait(model, (struct waited){to, from, 0, start, sent}, left, 0);
	}
	call(model, from, MPI_SEND, send_end);
	call(model, to, MPI_RECV, end);
	if (sent > start) {
		meet(model, from, to, left);
	}
}

static void work(struct model *model, int rank)
{
	for (int i = chance(model, 4); i >= 0; i--) {
		own(model, rank, chance(model, 30));
		if (chance(model, 3) > 0) {
			call(model, rank, LOAD + chance(model, 4),
			     model->now[rank] + chance(model, 40));
		}
	}
}

/* Makes a program of chance. All ranks meet at times, some of them more often, and messages go from
 * any to any. */
static void make_up(struct model *model)
{
	for (int i = 0; i < ROUNDS; i++) {
		for (int rank = 0; rank < model->ranks; rank++) {
			work(model, rank);
		}
		int from = chance(model, model->ranks), to = chance(model, model->ranks);
		switch (chance(model, 4)) {
		case 0:
			barrier(model, (1u << model->ranks) - 1);
			break;
		case 1:
			barrier(model, from == to ? 3u : 1u << from | 1u << to);
			break;
		default:
			message(model, from, from == to ? (to + 1) % model->ranks : to);
			break;
		}
	}
	assert_int_equal(hk_history_finish(&model->history), 0);
	assert_int_equal(model->history.elsewhere, 0);
}

/* ---- the model's costs ---- */

struct costs {
	double direct[CAUSES], all[CAUSES], uncharged;
	double (*cause)[CAUSES]; /* of each wait: shares */
};

static void count(const struct model *model, int rank, int from, int to, int *ticks, int *waited)
{
	for (int tick = from; tick < to; tick++) {
		if (model->wait[rank][tick] >= 0) {
			waited[model->wait[rank][tick]]++;
		} else {
			ticks[model->key[rank][tick]]++;
		}
	}
}

static bool is_own(int key)
{
	return key > FUNCTIONS || key == FORWARD;
}

static void cause_of(const struct model *model, int number, struct costs *costs)
{
	const struct waited *one = &model->waits[number];
	static int ticks[2][KEYS + FUNCTIONS + 1], waited[2][WAITS_MOST];
	double more[KEYS + FUNCTIONS + 1], whole = 0, own_more = 0, own_parts = 0;
	int in_waits[2] = {0};
	memset(ticks, 0, sizeof(ticks));
	memset(waited, 0, sizeof(waited));
	count(model, one->awaited, one->from, one->until, ticks[0], waited[0]);
	count(model, one->rank, one->from, one->start, ticks[1], waited[1]);
	for (int key = 0; key < KEYS; key++) {
		double difference = ticks[0][key] - ticks[1][key];
		more[key] = fmax(difference, 0);
		own_more += is_own(key) ? difference : 0;
		own_parts += is_own(key) ? more[key] : 0;
		whole += is_own(key) ? 0 : more[key];
	}
	own_more = fmax(own_more, 0);
	for (int i = 0; i < model->wait_count; i++) {
		in_waits[0] += waited[0][i];
		in_waits[1] += waited[1][i];
	}
	double waits_more = fmax(in_waits[0] - in_waits[1], 0);
	whole += own_more + waits_more;
	assert_true(whole >= one->until - one->start); /* they had met at one time */
	for (int key = 0; key < KEYS; key++) {
		double share = more[key] / whole;
		share *= is_own(key) && own_parts > 0 ? own_more / own_parts : 1;
		costs->cause[number][one->awaited * KEYS + key] += share;
		costs->direct[one->awaited * KEYS + key] += share * (one->until - one->start);
	}
	for (int i = 0; i < model->wait_count && waits_more > 0; i++) {
		double share = waits_more / whole * waited[0][i] / in_waits[0];
		for (int k = 0; share > 0 && k < CAUSES; k++) {
			costs->cause[number][k] += share * costs->cause[i][k];
		}
	}
	for (int k = 0; k < CAUSES; k++) {
		costs->all[k] += costs->cause[number][k] * (one->until - one->start);
	}
}

static int key_in_model(uint64_t key)
{
	if (hk_work_is_call(key)) {
		return (int)hk_work_activity(key);
	}
	uint32_t before = (uint32_t)(key >> 32), after = hk_work_activity(key);
	return key_of_gap(before == HK_NO_ACTIVITY ? NONE : (int)before,
			  after == HK_NO_ACTIVITY ? NONE : (int)after);
}

static int by_end(const void *a, const void *b)
{
	const struct waited *x = a, *y = b;
	return x->until != y->until ? x->until - y->until : x->rank - y->rank;
}

/* Waits in the order of their ends: what caused one comes before it. */
static void sort(struct model *model)
{
	qsort(model->waits, (size_t)model->wait_count, sizeof(*model->waits), by_end);
	memset(model->wait, -1, sizeof(model->wait));
	for (int i = 0; i < model->wait_count; i++) {
		for (int tick = model->waits[i].start; tick < model->waits[i].until; tick++) {
			model->wait[model->waits[i].rank][tick] = i;
		}
	}
}

static void compare_delays(struct model *model)
{
	struct costs *costs = calloc(1, sizeof(*costs));
	struct hk_delays delays;
	double all = 0, found = 0;
	assert_non_null(costs);
	costs->cause = calloc(WAITS_MOST, sizeof(*costs->cause));
	assert_non_null(costs->cause);
	sort(model);
	for (int i = 0; i < model->wait_count; i++) {
		cause_of(model, i, costs);
		all += model->waits[i].until - model->waits[i].start;
	}
	assert_int_equal(hk_delays_find(&model->history, &delays), 0);
	assert_int_equal(delays.waits, model->wait_count);
	assert_float_equal(delays.wait_ns, all, 1e-6);
	for (size_t i = 0; i < delays.rows.count; i++) {
		const struct hk_work_row *row = &delays.rows.list[i];
		int at = (int)row->lane * KEYS + key_in_model(row->key);
		assert_float_equal(row->ns, costs->all[at], 1e-6 * all);
		assert_float_equal(row->ns - row->passed_ns, costs->direct[at], 1e-6 * all);
		found += row->ns;
	}
	/* All waits are charged, so no row is missing. */
	assert_float_equal(found, all, 1e-6 * all);
	assert_float_equal(delays.uncharged_ns, 0, 1e-9);
	hk_delays_fini(&delays);
	free(costs->cause);
	free(costs);
}

/* ---- the model's path ---- */

static int ends_at(const struct model *model, int rank, int tick)
{
	for (int i = 0; i < model->wait_count; i++) {
		if (model->waits[i].rank == rank && model->waits[i].until == tick) {
			return i;
		}
	}
	return -1;
}

static void compare_path(const struct model *model)
{
	static double ticks[CAUSES];
	struct hk_path path;
	int rank = 0, tick, last, jumps = 0;
	double found = 0;
	memset(ticks, 0, sizeof(ticks));
	for (int i = 0; i < model->ranks; i++) {
		rank = model->gap[i] > model->gap[rank] ? i : rank;
	}
	last = model->gap[rank];
	for (tick = last; tick > 0;) {
		int ended = ends_at(model, rank, tick);
		if (ended >= 0) {
			rank = model->waits[ended].awaited;
			jumps++;
			continue;
		}
		ticks[rank * KEYS + model->key[rank][--tick]]++;
	}
	assert_int_equal(hk_path_find(&model->history, &path), 0);
	assert_int_equal(path.jumps, jumps);
	assert_float_equal(path.all_ns, last, 1e-9);
	for (size_t i = 0; i < path.rows.count; i++) {
		const struct hk_work_row *row = &path.rows.list[i];
		assert_float_equal(row->ns, ticks[(int)row->lane * KEYS + key_in_model(row->key)],
				   1e-9);
		found += row->ns;
	}
	assert_float_equal(found, last, 1e-9);
	hk_path_fini(&path);
}

static void programs_of_chance_cost_what_the_model_says(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct model *model = model_new(2 + (int)(seed % (RANKS_MOST - 1)), seed);
		make_up(model);
		compare_delays(model);
		compare_path(model);
		model_free(model);
	}
}

/* ---- known delays ---- */

static const struct hk_work_row *row_of(const struct hk_work_rows *rows, uint32_t lane,
					uint64_t key)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->list[i].lane == lane && rows->list[i].key == key) {
			return &rows->list[i];
		}
	}
	return NULL;
}

static void wait_is_passed_on_to_the_rank_that_caused_it(void **state)
{
	struct model *model = model_new(3, 1);
	struct hk_delays delays;
	(void)state;
	barrier(model, 7);
	call(model, 0, LOAD, model->now[0] + 1000);
	message(model, 0, 1); /* rank 1 waits for rank 0 */
	message(model, 1, 2); /* and rank 2 for rank 1 */
	assert_int_equal(hk_history_finish(&model->history), 0);
	assert_int_equal(hk_delays_find(&model->history, &delays), 0);
	const struct hk_work_row *load = row_of(&delays.rows, 0, hk_work_call(LOAD));
	assert_non_null(load);
	assert_ptr_equal(load, &delays.rows.list[0]);
	assert_float_equal(load->ns, 2000, 20); /* transfers take some ticks */
	assert_float_equal(load->passed_ns, 1000, 20);
	hk_delays_fini(&delays);
	model_free(model);
}

static void wait_in_both_ranks_is_not_passed_on(void **state)
{
	struct model *model = model_new(4, 1);
	struct hk_delays delays;
	(void)state;
	barrier(model, 15);
	call(model, 1, LOAD, model->now[1] + 500);
	call(model, 3, LOAD, model->now[3] + 500);
	barrier(model, 3);  /* rank 0 waits for 1 ... */
	barrier(model, 12); /* ... and 2 for 3, equally long */
	call(model, 0, SOLVE, model->now[0] + 100);
	barrier(model, 5); /* 2 waits for 0, which solved */
	assert_int_equal(hk_history_finish(&model->history), 0);
	assert_int_equal(hk_delays_find(&model->history, &delays), 0);
	const struct hk_work_row *solve = row_of(&delays.rows, 0, hk_work_call(SOLVE));
	assert_non_null(solve);
	assert_float_equal(solve->ns, 100, 10);
	assert_float_equal(row_of(&delays.rows, 1, hk_work_call(LOAD))->ns, 500, 10);
	hk_delays_fini(&delays);
	model_free(model);
}

/* ---- gaps, clocks ---- */

static void nothing_is_charged_behind_a_gap(void **state)
{
	struct model *model = model_new(2, 1);
	struct hk_delays delays;
	struct hk_path path;
	(void)state;
	barrier(model, 3);
	call(model, 0, LOAD, 100);
	barrier(model, 3);
	model->history.lanes[0].doubt_ns = BASE + (uint64_t)model->now[0];
	call(model, 0, LOAD, 600);
	barrier(model, 3);
	int last = model->now[0];
	assert_int_equal(hk_history_finish(&model->history), 0);
	assert_int_equal(hk_delays_find(&model->history, &delays), 0);
	assert_int_equal(delays.waits, 1);
	assert_true(delays.wait_ns < 100);
	hk_delays_fini(&delays);
	assert_int_equal(hk_path_find(&model->history, &path), 0);
	assert_float_equal(path.all_ns, last, 0);
	assert_true(path.class_ns[HK_WORK_UNKNOWN] > 490);
	hk_path_fini(&path);
	model_free(model);
}

static void waits_below_the_clock_error_are_no_jumps(void **state)
{
	struct model *model = model_new(2, 1);
	struct hk_delays delays;
	struct hk_path path;
	(void)state;
	call(model, 0, LOAD, 100);
	call(model, 1, LOAD, 98);
	barrier(model, 3);
	model->history.waits[0].certain = false;
	model->history.waits[0].until_ns = model->history.waits[0].start_ns;
	call(model, 1, SOLVE, 200);
	assert_int_equal(hk_history_finish(&model->history), 0);
	assert_int_equal(hk_path_find(&model->history, &path), 0);
	assert_int_equal(path.jumps, 0);
	assert_int_equal(path.unsure, 1);
	hk_path_fini(&path);
	assert_int_equal(hk_delays_find(&model->history, &delays), 0);
	assert_int_equal(delays.waits, 0);
	assert_int_equal(delays.rows.count, 0);
	hk_delays_fini(&delays);
	model_free(model);
}

static void waits_for_one_of_two_ranks_are_unsure(void **state)
{
	struct model *model = model_new(2, 1);
	struct hk_delays delays;
	struct hk_path path;
	(void)state;
	call(model, 0, LOAD, 100);
	barrier(model, 3);
	model->history.waits[0].rivalled = true;
	call(model, 1, SOLVE, 200);
	assert_int_equal(hk_history_finish(&model->history), 0);
	assert_int_equal(hk_path_find(&model->history, &path), 0);
	assert_int_equal(path.jumps, 1);
	assert_int_equal(path.unsure, 1);
	hk_path_fini(&path);
	assert_int_equal(hk_delays_find(&model->history, &delays), 0);
	assert_int_equal(delays.unsure, 1);
	hk_delays_fini(&delays);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(programs_of_chance_cost_what_the_model_says),
	    cmocka_unit_test(wait_is_passed_on_to_the_rank_that_caused_it),
	    cmocka_unit_test(wait_in_both_ranks_is_not_passed_on),
	    cmocka_unit_test(nothing_is_charged_behind_a_gap),
	    cmocka_unit_test(waits_for_one_of_two_ranks_are_unsure),
	    cmocka_unit_test(waits_below_the_clock_error_are_no_jumps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
