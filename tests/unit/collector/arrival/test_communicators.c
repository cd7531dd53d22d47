/* Which ranks a matcher takes as a communicator's, and when it stops matching one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "bring.h"
#include "collector/arrival/matcher.h"
#include "hooks/hook.h"
#include "report/wait/doubt.h"

#define PLENTY 100000u
#define SUB_COMM 77u

/* Brings calls FROM to TO of RANK on a communicator, entered 1000 ns times RANK after 0. */
static void bring_many(struct hk_matcher *matcher, int32_t rank, uint64_t from, uint64_t to)
{
	for (uint64_t number = from; number < to; number++) {
		const struct call call = {SUB_COMM, number,	     1000u * (uint64_t)rank,
					  50000,    "MPI_Allreduce", false};
		assert_int_equal(bring(matcher, rank, (uint64_t)rank, &call), 0);
	}
}

static void other_communicator_settles_after_some_calls(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	hk_matcher_set_world(matcher, 8);
	for (uint64_t number = 0; number < HK_MATCHER_SETTLED + 10; number++) {
		for (int32_t rank = 3; rank < 6; rank++) {
			const struct call call = {SUB_COMM, number,	     1000u * (uint64_t)rank,
						  50000,    "MPI_Allreduce", false};
			bring(matcher, rank, (uint64_t)rank, &call);
			Hk__Waits *waits = sums_of(matcher);
			bool settled = number + 1 >= HK_MATCHER_SETTLED && rank == 5;
			settled |= number >= HK_MATCHER_SETTLED;
			assert_true(settled || waits->collectives == 0);
			hk__waits__free_unpacked(waits, NULL);
		}
	}
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, HK_MATCHER_SETTLED + 10);
	assert_int_equal(waits->sums[0]->n_late, 1);
	assert_int_equal(waits->sums[0]->late[0]->rank, 5);
	assert_int_equal(waits->sums[0]->wait_ns, 3000 * (HK_MATCHER_SETTLED + 10));
	assert_int_equal(waits->sums[0]->longest_skew_ns, 2000);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

static void communicator_waits_until_all_seen_ranks_have_begun(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);
	const uint64_t first = 70000, end = first + HK_MATCHER_SETTLED;

	/* High numbers: the collector was restarted. One rank alone settles nothing. */
	bring_many(matcher, 3, first, end + 50);
	bring_many(matcher, 4, first, end - 1);
	bring_many(matcher, 5, first, end - 1);
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 0);
	hk__waits__free_unpacked(waits, NULL);
	bring_many(matcher, 5, end - 1, end);
	bring_many(matcher, 4, end - 1, end);
	waits = sums_of(matcher);
	assert_int_equal(waits->collectives, HK_MATCHER_SETTLED);
	assert_int_equal(waits->sums[0]->late[0]->rank, 5);
	assert_int_equal(waits->open, 50);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

static void late_rank_takes_back_what_its_communicator_has(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	hk_matcher_set_world(matcher, 2);
	bring_pair(matcher, 7, 0);
	bring_many(matcher, 3, 0, HK_MATCHER_SETTLED + 5);
	bring_many(matcher, 4, 0, HK_MATCHER_SETTLED);
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 1 + HK_MATCHER_SETTLED);
	hk__waits__free_unpacked(waits, NULL);
	bring_many(matcher, 5, 0, HK_MATCHER_SETTLED + 5);
	bring_many(matcher, 3, HK_MATCHER_SETTLED + 5, HK_MATCHER_SETTLED + 10);
	waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 1);
	assert_int_equal(waits->n_sums, 1);
	assert_int_equal(waits->unsure, HK_MATCHER_SETTLED + 10);
	assert_int_equal(waits->open, 0);
	assert_int_equal(waits->doubt, HK_DOUBT_MEMBER);
	assert_int_equal(waits->doubt_rank, 5);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

static void broadcast_without_a_known_root_has_a_skew(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	for (uint64_t number = 0; number < HK_MATCHER_SETTLED; number++) {
		for (int32_t rank = 0; rank < 2; rank++) {
			const struct call call = {
			    SUB_COMM, number,	   1000u + 300u * (uint64_t)rank,
			    50000,    "MPI_Bcast", false};
			bring(matcher, rank, 5 + (uint64_t)rank, &call);
		}
	}
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, HK_MATCHER_SETTLED);
	assert_int_equal(waits->doubtful, 0);
	assert_int_equal(waits->sums[0]->collectives, HK_MATCHER_SETTLED);
	assert_int_equal(waits->sums[0]->wait_ns, 0);
	assert_int_equal(waits->sums[0]->skew_ns, 300 * HK_MATCHER_SETTLED);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

/* Rank 5 belongs to the communicator, but has no numbers before its first call there. */
static void communicator_does_not_settle_beside_a_rank_without_numbers(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	hk_matcher_set_world(matcher, 6);
	assert_int_equal(bring_doubt(matcher, 5, 5), 0);
	bring_many(matcher, 3, 0, HK_MATCHER_SETTLED + 10);
	bring_many(matcher, 4, 0, HK_MATCHER_SETTLED + 10);
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->collectives, 0);
	assert_int_equal(waits->unsure, HK_MATCHER_SETTLED + 10);
	assert_int_equal(waits->open, 0);
	assert_int_equal(waits->doubt, HK_DOUBT_LOST);
	assert_int_equal(waits->doubt_rank, 5);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

/* Programs with the same ranks send in turn: COUNT of them, one call each. */
static Hk__Waits *sums_of_programs(uint64_t count, uint64_t calls)
{
	struct hk_matcher *matcher = hk_matcher_new(PLENTY, NULL);

	hk_matcher_set_world(matcher, 2);
	for (uint64_t i = 0; i < calls; i++) {
		bring_pair(matcher, 5 + 2 * (i % count), i / count);
	}
	Hk__Waits *waits = sums_of(matcher);
	hk_matcher_free(matcher);
	return waits;
}

static void programs_with_the_same_ranks_are_not_matched(void **state)
{
	(void)state;

	for (uint64_t count = 2; count < 5; count++) {
		Hk__Waits *waits = sums_of_programs(count, 10 * count);
		assert_int_equal(waits->collectives, count);
		assert_true(waits->unsure > 5);
		assert_int_equal(waits->open, 0);
		assert_int_equal(waits->doubt, HK_DOUBT_RANKS);
		hk__waits__free_unpacked(waits, NULL);
	}
}

static void programs_one_after_another_are_matched_up_to_a_limit(void **state)
{
	(void)state;
	Hk__Waits *waits = sums_of_programs(HK_MATCHER_BEGINNINGS, HK_MATCHER_BEGINNINGS);

	assert_int_equal(waits->collectives, HK_MATCHER_BEGINNINGS);
	assert_int_equal(waits->doubt, HK_DOUBT_NONE);
	hk__waits__free_unpacked(waits, NULL);
	waits = sums_of_programs(2 * HK_MATCHER_BEGINNINGS, 2 * HK_MATCHER_BEGINNINGS);
	assert_int_equal(waits->doubt, HK_DOUBT_RANKS);
	hk__waits__free_unpacked(waits, NULL);
}

/* More ranks than there is room for, each on 256 communicators of which one has a call. */
static void members_are_limited(void **state)
{
	(void)state;
	struct hk_matcher *matcher = hk_matcher_new(4 * HK_MATCHER_MEMBERS, NULL);
	uint64_t comms[HK_MATCHER_COMMS], number = 0, duration_ns = 10;
	char *functions[HK_MATCHER_COMMS], name[] = "MPI_Barrier";
	uint32_t kind = 0;
	int64_t enter_ns = 1000;
	Hk__Arrivals message = HK__ARRIVALS__INIT;

	for (size_t i = 0; i < HK_MATCHER_COMMS; i++) {
		comms[i] = SUB_COMM + i;
		functions[i] = name;
	}
	message.n_comm = message.n_function = HK_MATCHER_COMMS;
	message.comm = comms;
	message.function = functions;
	message.n_kind = message.n_number = message.n_enter_ns = message.n_duration_ns = 1;
	message.kind = &kind;
	message.number = &number;
	message.enter_ns = &enter_ns;
	message.duration_ns = &duration_ns;
	for (int32_t rank = 0; rank < (int32_t)HK_MATCHER_MEMBERS + 3; rank++) {
		const struct hk_matcher_caller caller = {
		    .owner = 1, .rank = rank, .has_clock = true};
		assert_int_equal(hk_matcher_take(matcher, &caller, &message), 0);
	}
	Hk__Waits *waits = sums_of(matcher);
	assert_int_equal(waits->dropped, 3);
	hk__waits__free_unpacked(waits, NULL);
	hk_matcher_free(matcher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(other_communicator_settles_after_some_calls),
	    cmocka_unit_test(communicator_waits_until_all_seen_ranks_have_begun),
	    cmocka_unit_test(late_rank_takes_back_what_its_communicator_has),
	    cmocka_unit_test(broadcast_without_a_known_root_has_a_skew),
	    cmocka_unit_test(communicator_does_not_settle_beside_a_rank_without_numbers),
	    cmocka_unit_test(programs_with_the_same_ranks_are_not_matched),
	    cmocka_unit_test(programs_one_after_another_are_matched_up_to_a_limit),
	    cmocka_unit_test(members_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
