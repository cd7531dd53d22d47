/* Collectives of simulated ranks, brought in random order and with losses, beside a search over
 * everything that arrived; and messages that no leaf would send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bring.h"
#include "collector/arrival/matcher.h"
#include "hooks/hook.h"
#include "report/wait/doubt.h"

#define RANKS 6
#define CALLS 120
#define RUNS 400
#define PLENTY 100000u

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static const Hk__WaitSum *sum_of(const Hk__Waits *waits, const char *function)
{
	for (size_t i = 0; i < waits->n_sums; i++) {
		if (strcmp(waits->sums[i]->function, function) == 0) {
			return waits->sums[i];
		}
	}
	return NULL;
}

/* ---- the model ---- */

/* Everything about one collective. */
struct truth {
	const char *function;
	uint64_t number;
	uint64_t enter_ns[RANKS], leave_ns[RANKS];
	int root;
	bool brought[RANKS];
	int count;	  /* that were brought and accepted */
	bool open, ended; /* in the window, or done with */
	unsigned opened;  /* order in which the window got it */
};

struct model {
	struct truth calls[CALLS];
	int ranks;
	size_t places, used;
	unsigned opened;
	uint64_t floor[2];
	uint64_t collectives, incomplete, late;
	uint64_t wait_ns[2][RANKS], times[2][RANKS];
};

static const char *const functions[2] = {"MPI_Barrier", "MPI_Bcast"};

static int kind_of(const struct truth *call)
{
	return call->function == functions[1];
}

static void make_calls(struct model *model)
{
	uint64_t now_ns = 1000000, numbers[2] = {0};

	for (int i = 0; i < CALLS; i++) {
		struct truth *call = &model->calls[i];
		int kind = (int)draw(2);
		uint64_t last_ns = 0;
		call->function = functions[kind];
		call->number = numbers[kind]++;
		call->root = (int)draw((uint64_t)model->ranks);
		for (int rank = 0; rank < model->ranks; rank++) {
			/* No two are equal: which one is the last would be open. */
			call->enter_ns[rank] = now_ns + draw(1000) * RANKS + (uint64_t)rank;
			last_ns = call->enter_ns[rank] > last_ns ? call->enter_ns[rank] : last_ns;
		}
		for (int rank = 0; rank < model->ranks; rank++) {
			call->leave_ns[rank] = last_ns + draw(50);
		}
		now_ns = last_ns + 100;
	}
}

/* What others waited in CALL, by the definition. */
static void end_call(struct model *model, struct truth *call)
{
	int kind = kind_of(call), awaited = 0;

	for (int rank = 1; rank < model->ranks; rank++) {
		awaited = call->enter_ns[rank] > call->enter_ns[awaited] ? rank : awaited;
	}
	awaited = kind == 1 ? call->root : awaited;
	uint64_t wait_ns = 0;
	for (int rank = 0; rank < model->ranks; rank++) {
		if (call->enter_ns[awaited] > call->enter_ns[rank]) {
			wait_ns += call->enter_ns[awaited] - call->enter_ns[rank];
		}
	}
	model->collectives++;
	model->wait_ns[kind][awaited] += wait_ns;
	model->times[kind][awaited] += wait_ns > 0;
	call->open = false;
	call->ended = true;
	model->used -= (size_t)model->ranks + 4;
}

static void open_call(struct model *model, struct truth *call)
{
	size_t size = (size_t)model->ranks + 4;

	while (model->used + size > model->places) {
		struct truth *oldest = NULL;
		for (int i = 0; i < CALLS; i++) {
			struct truth *other = &model->calls[i];
			if (other->open && (!oldest || other->opened < oldest->opened)) {
				oldest = other;
			}
		}
		oldest->open = false;
		oldest->ended = true;
		model->incomplete++;
		model->used -= size;
		uint64_t floor = oldest->number + 1;
		int kind = kind_of(oldest);
		model->floor[kind] = floor > model->floor[kind] ? floor : model->floor[kind];
	}
	call->open = true;
	call->opened = model->opened++;
	model->used += size;
}

static void model_bring(struct model *model, struct truth *call, int rank)
{
	if (call->brought[rank] || call->number < model->floor[kind_of(call)]) {
		model->late++;
		return;
	}
	call->brought[rank] = true;
	if (!call->open) {
		open_call(model, call);
	}
	if (++call->count == model->ranks) {
		end_call(model, call);
	}
}

static uint64_t open_of(const struct model *model)
{
	uint64_t open = 0;

	for (int i = 0; i < CALLS; i++) {
		open += model->calls[i].open;
	}
	return open;
}

static void compare(const struct model *model, const struct hk_matcher *matcher)
{
	Hk__Waits *waits = sums_of(matcher);

	assert_int_equal(waits->collectives, model->collectives);
	assert_int_equal(waits->incomplete, model->incomplete);
	assert_int_equal(waits->late, model->late);
	assert_int_equal(waits->open, open_of(model));
	assert_int_equal(waits->doubtful + waits->unsure + waits->dropped + waits->clockless, 0);
	for (int kind = 0; kind < 2; kind++) {
		const Hk__WaitSum *sum = sum_of(waits, functions[kind]);
		uint64_t all_ns = 0;
		for (int rank = 0; rank < model->ranks; rank++) {
			uint64_t found_ns = 0, times = 0;
			for (size_t i = 0; sum && i < sum->n_late; i++) {
				found_ns += sum->late[i]->rank == rank ? sum->late[i]->wait_ns : 0;
				times += sum->late[i]->rank == rank ? sum->late[i]->times : 0;
			}
			assert_int_equal(found_ns, model->wait_ns[kind][rank]);
			assert_int_equal(times, model->times[kind][rank]);
			all_ns += found_ns;
		}
		assert_int_equal(sum ? sum->wait_ns : 0, all_ns);
	}
	hk__waits__free_unpacked(waits, NULL);
}

/* Brings the calls of all ranks: of each rank in order, of all in random order, some of them twice,
 * some never. */
static void play(struct model *model, struct hk_matcher *matcher, uint64_t losses)
{
	int next[RANKS] = {0}, left = model->ranks;

	while (left > 0) {
		int rank = (int)draw((uint64_t)model->ranks);
		if (next[rank] == CALLS) {
			continue;
		}
		struct truth *from = &model->calls[next[rank]++];
		left -= next[rank] == CALLS;
		if (losses > 0 && draw(losses) == 0) {
			continue;
		}
		const struct call call = {
		    .comm = HK_COMM_WORLD,
		    .function = from->function,
		    .number = from->number,
		    .enter_ns = from->enter_ns[rank],
		    .duration_ns = from->leave_ns[rank] - from->enter_ns[rank],
		    .is_root = rank == from->root,
		};
		for (uint64_t times = 1 + (draw(20) == 0); times > 0; times--) {
			assert_int_equal(bring(matcher, rank, 10 + (uint64_t)rank, &call), 0);
			model_bring(model, from, rank);
		}
	}
}

static void random_streams_match_as_the_model_says(void **state)
{
	(void)state;
	uint64_t pushed_out = 0, matched = 0;

	for (uint64_t run = 0; run < RUNS; run++) {
		static struct model model;
		seed = run * 7919 + 1;
		model = (struct model){.ranks = 2 + (int)draw(RANKS - 1)};
		model.places = run % 2 ? PLENTY : 40 + draw(200);
		make_calls(&model);
		struct hk_matcher *matcher = hk_matcher_new(model.places, NULL);
		hk_matcher_set_world(matcher, model.ranks);
		play(&model, matcher, run % 3 ? 10 + draw(100) : 0);
		compare(&model, matcher);
		pushed_out += model.incomplete;
		matched += model.collectives;
		hk_matcher_free(matcher);
	}
	assert_true(pushed_out > 1000);
	assert_true(matched > 10000);
}

/* ---- single cases ---- */

static void rank_without_numbers_ends_matching(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	hk_matcher_set_world(matcher, 2);
	bring_pair(matcher, 5, 0);
	assert_int_equal(bring_doubt(matcher, 1, 6), 0);
	for (uint64_t number = 1; number < 4; number++) {
		const struct call call = barrier(number, 1000);
		bring(matcher, 0, 5, &call);
	}
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 1);
	assert_int_equal(waits->unsure, 3);
	assert_int_equal(waits->open, 0);
	assert_int_equal(waits->doubt, HK_DOUBT_LOST);
	assert_int_equal(waits->doubt_rank, 1);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

static void new_process_of_a_rank_begins_again(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	hk_matcher_set_world(matcher, 2);
	for (uint64_t number = 0; number < 3; number++) {
		bring_pair(matcher, 5, number);
	}
	const struct call alone = barrier(3, 1000), old = barrier(4, 1000), new = barrier(0, 3000);
	bring(matcher, 0, 5, &alone);
	bring(matcher, 0, 7, &new);
	bring(matcher, 1, 6, &old);
	bring(matcher, 1, 8, &new);
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 4);
	assert_int_equal(waits->incomplete, 1);
	assert_int_equal(waits->late, 1);
	assert_int_equal(waits->open, 0);
	assert_int_equal(waits->sums[0]->wait_ns, 1500);
	assert_int_equal(waits->sums[0]->together, 1);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

/* Calls of several threads come in any order: each of the last 64 numbers counts once. */
static void number_below_the_highest_counts_once(void **state)
{
	(void)state;
	static const uint64_t numbers[] = {2, 0, 1, 0, 2, 66, 3, 2};
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	hk_matcher_set_world(matcher, 2);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		bring_pair(matcher, 5, numbers[i]);
	}
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 5);
	assert_int_equal(waits->late, 6);
	assert_int_equal(waits->open, 0);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

static void contradicting_times_are_not_charged(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);
	const struct call early = barrier(0, 1000), much_later = barrier(0, 900000);

	hk_matcher_set_world(matcher, 2);
	bring(matcher, 0, 5, &early);
	bring(matcher, 1, 6, &much_later);
	bring_pair(matcher, 5, 1);
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 2);
	assert_int_equal(waits->doubtful, 1);
	assert_int_equal(waits->sums[0]->collectives, 1);
	assert_int_equal(waits->sums[0]->wait_ns, 500);
	assert_int_equal(waits->sums[0]->skew_ns, 500);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

static void waits_below_the_clock_error_are_not_charged(void **state)
{
	(void)state;
	uint64_t monotonic_ns = 0, fit_ns = 1, bound_ns = 200;
	int64_t offset_ns = 0;
	Hk__ClockMap map = HK__CLOCK_MAP__INIT;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	map.n_monotonic_ns = map.n_offset_ns = map.n_fit_error_ns = map.n_bound_ns = 1;
	map.monotonic_ns = &monotonic_ns;
	map.offset_ns = &offset_ns;
	map.fit_error_ns = &fit_ns;
	map.bound_ns = &bound_ns;
	hk_matcher_set_world(matcher, 2);
	for (uint64_t number = 0; number < 2; number++) {
		/* 150 ns apart, then 450. */
		const struct hk_matcher_caller far = {
		    .owner = 6, .rank = 1, .has_clock = true, &map};
		const struct call near = barrier(number, 1000);
		char *function = (char *)(uintptr_t)near.function;
		uint64_t comm = near.comm, duration_ns = near.duration_ns;
		int64_t enter_ns = number ? 1450 : 1150;
		uint32_t kind = 0;
		Hk__Arrivals message = HK__ARRIVALS__INIT;
		message.n_comm = message.n_function = 1;
		message.comm = &comm;
		message.function = &function;
		message.n_kind = message.n_number = message.n_enter_ns = message.n_duration_ns = 1;
		message.kind = &kind;
		message.number = &number;
		message.enter_ns = &enter_ns;
		message.duration_ns = &duration_ns;
		bring(matcher, 0, 5, &near);
		assert_int_equal(hk_matcher_take(matcher, &far, &message), 0);
	}
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 2);
	assert_int_equal(waits->sums[0]->together, 1);
	assert_int_equal(waits->sums[0]->wait_ns, 450);
	assert_true(waits->sums[0]->error_ns >= 200);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

static void sums_continue_in_another_matcher(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	hk_matcher_set_world(matcher, 2);
	bring_pair(matcher, 5, 0);
	Hk__Waits *before = sums_of(matcher);
	hk_matcher_free(matcher);
	matcher = hk_matcher_new(PLENTY, before);
	hk__waits__free_unpacked(before, NULL);
	hk_matcher_set_world(matcher, 2);
	bring_pair(matcher, 5, 1);
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 2);
	assert_int_equal(waits->sums[0]->collectives, 2);
	assert_int_equal(waits->sums[0]->wait_ns, 1000);
	assert_int_equal(waits->sums[0]->late[0]->rank, 1);
	assert_int_equal(waits->sums[0]->late[0]->times, 2);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

/* Messages of random numbers and lengths: they are refused or counted, and memory stays bounded. */
static void random_messages_do_no_harm(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(500, NULL);
	static const char *const names[] = {"MPI_Barrier", "MPI_Reduce", "MPI_Send", "",
					    "mpi_bcast_"};
	uint64_t columns[3][8], comm[8];
	uint32_t kind[8];
	char *function[8];

	seed = 4711;
	hk_matcher_set_world(matcher, 3);
	for (int run = 0; run < 20000; run++) {
		const struct hk_matcher_caller caller = {
		    .owner = 1 + draw(6), .rank = (int32_t)draw(6) - 1, .has_clock = draw(9) > 0};
		Hk__Arrivals message = HK__ARRIVALS__INIT;
		size_t count = draw(8);
		for (size_t i = 0; i < 8; i++) {
			comm[i] = draw(5) ? HK_COMM_WORLD : draw(1000);
			function[i] = (char *)(uintptr_t)names[draw(5)];
			kind[i] = (uint32_t)draw(draw(50) ? 6 : 1000);
			columns[0][i] = draw(50) ? draw(300) : UINT64_MAX - draw(3);
			columns[1][i] = draw(50) ? draw(5000) : (uint64_t)INT64_MAX - draw(3);
			columns[2][i] = draw(50) ? draw(5000) : UINT64_MAX - draw(3);
		}
		message.comm = comm;
		message.function = function;
		message.kind = kind;
		message.number = columns[0];
		message.enter_ns = (int64_t *)columns[1];
		message.duration_ns = columns[2];
		message.n_comm = message.n_function = 3;
		message.n_kind = message.n_number = message.n_enter_ns = message.n_duration_ns =
		    count;
		message.n_number -= count > 0 && draw(100) == 0;
		message.doubt = draw(500) ? 0 : (uint32_t)draw(100);
		int r = hk_matcher_take(matcher, &caller, &message);
		assert_true(r == 0 || r == -EBADMSG);
	}
	Hk__Waits *waits = sums_of(matcher);
	assert_true(waits->open <= 500 / 4);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_streams_match_as_the_model_says),
	    cmocka_unit_test(rank_without_numbers_ends_matching),
	    cmocka_unit_test(new_process_of_a_rank_begins_again),
	    cmocka_unit_test(number_below_the_highest_counts_once),
	    cmocka_unit_test(contradicting_times_are_not_charged),
	    cmocka_unit_test(waits_below_the_clock_error_are_not_charged),
	    cmocka_unit_test(sums_continue_in_another_matcher),
	    cmocka_unit_test(random_messages_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
