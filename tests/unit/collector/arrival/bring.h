/* bring.h: calls of single ranks, for tests of a matcher. */
#ifndef HK_TESTS_COLLECTOR_ARRIVAL_BRING_H
#define HK_TESTS_COLLECTOR_ARRIVAL_BRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/arrival/matcher.h"
#include "hooks/hook.h"
#include "report/wait/doubt.h"

struct call {
	uint64_t comm, number, enter_ns, duration_ns;
	const char *function;
	bool is_root;
};

/* Brings one call of RANK of process OWNER. */
static inline int bring(struct hk_matcher *matcher, int32_t rank, uint64_t owner,
			const struct call *call)
{
	const struct hk_matcher_caller caller = {.owner = owner, .rank = rank, .has_clock = true};
	Hk__Arrivals message = HK__ARRIVALS__INIT;
	char *function = (char *)(uintptr_t)call->function;
	uint64_t comm = call->comm, number = call->number, duration_ns = call->duration_ns;
	uint32_t kind = call->is_root;
	int64_t enter_ns = (int64_t)call->enter_ns;

	message.n_comm = message.n_function = 1;
	message.comm = &comm;
	message.function = &function;
	message.n_kind = message.n_number = message.n_enter_ns = message.n_duration_ns = 1;
	message.kind = &kind;
	message.number = &number;
	message.enter_ns = &enter_ns;
	message.duration_ns = &duration_ns;
	return hk_matcher_take(matcher, &caller, &message);
}

static inline int bring_doubt(struct hk_matcher *matcher, int32_t rank, uint64_t owner)
{
	const struct hk_matcher_caller caller = {.owner = owner, .rank = rank, .has_clock = true};
	Hk__Arrivals message = HK__ARRIVALS__INIT;

	message.doubt = HK_DOUBT_LOST;
	return hk_matcher_take(matcher, &caller, &message);
}

static inline Hk__Waits *sums_of(const struct hk_matcher *matcher)
{
	Hk__Waits *waits;

	assert_int_equal(hk_matcher_sums(matcher, &waits), 0);
	assert_non_null(waits);
	return waits;
}

static inline struct call barrier(uint64_t number, uint64_t enter_ns)
{
	return (struct call){HK_COMM_WORLD, number, enter_ns, 10000, "MPI_Barrier", false};
}

static inline void bring_pair(struct hk_matcher *matcher, uint64_t owner, uint64_t number)
{
	const struct call first = barrier(number, 1000), second = barrier(number, 1500);

	assert_int_equal(bring(matcher, 0, owner, &first), 0);
	assert_int_equal(bring(matcher, 1, owner + 1, &second), 0);
}

#endif
