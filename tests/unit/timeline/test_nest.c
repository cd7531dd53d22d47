/* The nest against brackets written by hand, and against a model of truly nested calls whose times
 * were rounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/nest.h"

struct log {
	char text[512];
};

static int log_open(void *context, const struct hk_slice *slice)
{
	struct log *log = context;
	size_t used = strlen(log->text);

	snprintf(log->text + used, sizeof(log->text) - used, "(%ju ", (uintmax_t)slice->start_ns);
	return 0;
}

static int log_close(void *context, const struct hk_slice *slice)
{
	struct log *log = context;
	size_t used = strlen(log->text);

	snprintf(log->text + used, sizeof(log->text) - used, "%ju) ", (uintmax_t)slice->end_ns);
	return 0;
}

static const char *nested(struct log *log, const uint64_t (*times)[2], size_t count)
{
	struct hk_nest_sink sink = {.open = log_open, .close = log_close, .context = log};
	struct hk_nest nest = {0};

	log->text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		struct hk_slice slice = {.start_ns = times[i][0], .end_ns = times[i][1]};

		assert_int_equal(hk_nest_add(&nest, &slice, &sink), 0);
	}
	assert_int_equal(hk_nest_finish(&nest, &sink), 0);
	hk_nest_fini(&nest);
	return log->text;
}

#define NESTED(...)                                      \
	nested(&log, (const uint64_t[][2]){__VA_ARGS__}, \
	       sizeof((const uint64_t[][2]){__VA_ARGS__}) / sizeof(uint64_t[2]))

static void test_calls_that_nest_stay_as_they_are(void **state)
{
	struct log log;

	(void)state;
	assert_string_equal(NESTED({0, 100}, {10, 20}, {20, 30}, {25, 30}, {200, 200}),
			    "(0 (10 20) (20 (25 30) 30) 100) (200 200) ");
}

static void test_callee_that_ends_late_by_rounding_is_cut(void **state)
{
	struct log log;

	(void)state;
	assert_string_equal(NESTED({0, 100}, {10, 101}), "(0 (10 100) 100) ");
}

static void test_call_that_begins_early_by_rounding_follows_its_sibling(void **state)
{
	struct log log;

	(void)state;
	assert_string_equal(NESTED({0, 500}, {0, 100}, {99, 200}), "(0 (0 99) (99 200) 500) ");
}

static void test_times_that_go_backwards_are_brought_in_order(void **state)
{
	struct log log;

	(void)state;
	assert_string_equal(NESTED({50, 60}, {40, 45}, {70, 65}), "(50 (50 50) 60) (70 70) ");
}

static void test_depth_is_bounded(void **state)
{
	struct log log = {{0}};
	struct hk_nest_sink sink = {.open = log_open, .close = log_close, .context = &log};
	struct hk_slice slice = {.start_ns = 1, .end_ns = 100};
	struct hk_nest nest = {0};

	(void)state;
	for (uint32_t i = 0; i < HK_NEST_DEPTH_MAX; i++) {
		assert_int_equal(hk_nest_add(&nest, &slice, &sink), 0);
	}
	assert_int_equal(hk_nest_add(&nest, &slice, &sink), -E2BIG);
	/* What begins later than all of them has room again. */
	slice.start_ns = slice.end_ns = 200;
	assert_int_equal(hk_nest_add(&nest, &slice, &sink), 0);
	assert_int_equal(nest.depth, 1);
	hk_nest_fini(&nest);
}

/* ---- model ---- */

#define CALLS 4000
#define TICK_NS 0.37

struct call {
	uint64_t start, end; /* ticks */
	unsigned int depth;
};

struct model {
	struct call calls[CALLS]; /* in order of start, outer first */
	size_t count;
	uint64_t now;
	uint64_t seed;
};

static unsigned int next_random(struct model *model, unsigned int bound)
{
	model->seed = model->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(model->seed >> 33) % bound;
}

/* At least 60 ticks each, so that no call is shorter than two roundings and depth is unambiguous.
 */
static void call_tree(struct model *model, unsigned int depth)
{
	if (model->count == CALLS) {
		return;
	}
	struct call *call = &model->calls[model->count++];

	call->depth = depth;
	call->start = model->now;
	model->now += 30;
	for (unsigned int i = next_random(model, depth < 12 ? 4 : 1); i > 0; i--) {
		call_tree(model, depth + 1);
		model->now += next_random(model, 2);
	}
	model->now += 30;
	call->end = model->now;
}

struct depth_check {
	const struct model *model;
	size_t opened;
	unsigned int depth;
};

static int check_open(void *context, const struct hk_slice *slice)
{
	struct depth_check *check = context;

	(void)slice;
	assert_int_equal(check->depth, check->model->calls[check->opened].depth);
	check->opened++;
	check->depth++;
	return 0;
}

static int check_close(void *context, const struct hk_slice *slice)
{
	struct depth_check *check = context;

	(void)slice;
	check->depth--;
	return 0;
}

static void test_rounded_calls_keep_their_depth(void **state)
{
	static struct model model;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct depth_check check = {.model = &model};
		struct hk_nest_sink sink = {check_open, check_close, &check};
		struct hk_nest nest = {0};

		model = (struct model){.seed = seed};
		while (model.count < CALLS) {
			call_tree(&model, 0);
		}
		for (size_t i = 0; i < CALLS; i++) {
			uint64_t start = (uint64_t)((double)model.calls[i].start * TICK_NS);
			/* The length is rounded by itself, as in a record; the end up or down. */
			uint64_t length =
			    (uint64_t)((double)(model.calls[i].end - model.calls[i].start) *
					   TICK_NS +
				       next_random(&model, 2));
			struct hk_slice slice = {.start_ns = start, .end_ns = start + length};

			assert_int_equal(hk_nest_add(&nest, &slice, &sink), 0);
		}
		assert_int_equal(hk_nest_finish(&nest, &sink), 0);
		assert_int_equal(check.opened, CALLS);
		assert_int_equal(check.depth, 0);
		hk_nest_fini(&nest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_calls_that_nest_stay_as_they_are),
	    cmocka_unit_test(test_callee_that_ends_late_by_rounding_is_cut),
	    cmocka_unit_test(test_call_that_begins_early_by_rounding_follows_its_sibling),
	    cmocka_unit_test(test_times_that_go_backwards_are_brought_in_order),
	    cmocka_unit_test(test_depth_is_bounded),
	    cmocka_unit_test(test_rounded_calls_keep_their_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
