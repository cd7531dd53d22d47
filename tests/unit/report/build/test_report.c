/* Rows against sums over every single call, made by a model that keeps them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "report/build/build.h"
#include "report/model/report.h"
#include "snapshot_maker.h"

#define CALLS_MAX 4000
#define ROWS 64

/* What the rows must say, from the calls themselves. */
struct model_row {
	int32_t rank;
	const char *role, *function, *library;
	uint64_t durations[CALLS_MAX];
	size_t count;
};

static struct model_row model[ROWS];
static size_t model_rows;

static uint64_t random_state;

static uint64_t random_number(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return random_state >> 20;
}

static void model_add(int32_t rank, const char *role, const char *function, const char *library,
		      uint64_t ns)
{
	size_t i = 0;
	while (i < model_rows &&
	       !(model[i].rank == rank && !strcmp(model[i].role, role) &&
		 !strcmp(model[i].function, function) && !strcmp(model[i].library, library))) {
		i++;
	}
	assert_true(i < ROWS);
	if (i == model_rows) {
		model[model_rows++] = (struct model_row){
		    .rank = rank, .role = role, .function = function, .library = library};
	}
	assert_true(model[i].count < CALLS_MAX);
	model[i].durations[model[i].count++] = ns;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void check_quantile(uint64_t *sorted, size_t count, double share, uint64_t got)
{
	size_t place = (size_t)ceil(share * (double)count);
	double exact = (double)sorted[place > 0 ? place - 1 : 0];
	assert_true(fabs((double)got - exact) <= exact / 64 + 1);
}

static const struct hk_report_call *find(const struct hk_report *report,
					 const struct model_row *row)
{
	for (size_t i = 0; i < report->call_count; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (call->rank == row->rank && !strcmp(call->role, row->role) &&
		    !strcmp(call->function, row->function) &&
		    !strcmp(call->library, row->library)) {
			return call;
		}
	}
	return NULL;
}

static void check_row(const struct hk_report *report, struct model_row *row)
{
	const struct hk_report_call *call = find(report, row);
	uint64_t total = 0;

	assert_non_null(call);
	qsort(row->durations, row->count, sizeof(row->durations[0]), by_number);
	for (size_t i = 0; i < row->count; i++) {
		total += row->durations[i];
	}
	assert_int_equal(call->numbers.calls, row->count);
	assert_int_equal(call->numbers.total_ns, total);
	assert_int_equal(call->numbers.mean_ns, total / row->count);
	assert_int_equal(call->numbers.min_ns, row->durations[0]);
	assert_int_equal(call->numbers.max_ns, row->durations[row->count - 1]);
	check_quantile(row->durations, row->count, 0.5, call->numbers.p50_ns);
	check_quantile(row->durations, row->count, 0.9, call->numbers.p90_ns);
	check_quantile(row->durations, row->count, 0.99, call->numbers.p99_ns);
}

static const char *const functions[] = {"MPI_Send", "MPI_Recv", "read"};
static const char *const libraries[] = {"/bin/app", "/lib/libx.so"};

static void fill(struct maker *maker)
{
	static const Hk__Role roles[] = {HK__ROLE__ROLE_MAIN, HK__ROLE__ROLE_HELPER,
					 HK__ROLE__ROLE_HELPER};
	static const char *const role_names[] = {"main", "helper", "helper"};

	for (int rank = 0; rank < 3; rank++) {
		for (size_t p = 0; p < 3; p++) {
			struct maker_process *process =
			    maker_process(maker, rank, roles[p], 1000, 2000);
			for (size_t s = 0; s < 6; s++) {
				const char *function = functions[s % 3],
					   *library = libraries[s / 3];
				Hk__Cell *cell =
				    maker_cell(process, "mpi", function, library, HK_LEVEL_RECORD);
				size_t calls = random_number() % 300;
				for (size_t c = 0; c < calls; c++) {
					uint64_t ns = random_number() >> (random_number() % 40);
					ns %= 1ull << 39;
					maker_call(cell, ns);
					model_add(rank, role_names[p], function, library, ns);
				}
			}
		}
	}
}

static void test_rows_equal_the_calls(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct maker maker;
		struct hk_report *report;
		random_state = seed;
		model_rows = 0;
		maker_init(&maker);
		fill(&maker);
		assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
		maker_fini(&maker);
		assert_int_equal(report->call_count, model_rows);
		for (size_t i = 0; i < model_rows; i++) {
			check_row(report, &model[i]);
		}
		for (size_t i = 1; i < report->call_count; i++) {
			const struct hk_report_call *a = &report->calls[i - 1], *b = a + 1;
			assert_true(
			    a->rank < b->rank ||
			    (a->rank == b->rank && a->numbers.total_ns >= b->numbers.total_ns));
		}
		hk_report_free(report);
	}
}

static void test_levels_decide_what_is_measured(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1000, 2000);
	maker_cell(process, "mpi", "counted", "app", HK_LEVEL_COUNT)->calls = 7;
	Hk__Cell *sampled = maker_cell(process, "mpi", "sampled", "app", HK_LEVEL_SAMPLE);
	maker_call(sampled, 100);
	maker_call(sampled, 300);
	sampled->calls = 20;
	maker_cell(process, "mpi", "open", "app", HK_LEVEL_TIME)->calls = 1;
	Hk__Cell *lowered = maker_cell(process, "mpi", "lowered", "app", HK_LEVEL_COUNT);
	maker_call(lowered, 50);
	lowered->calls = 9;
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);

	for (size_t i = 0; i < report->call_count; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (!strcmp(call->function, "counted")) {
			assert_false(call->numbers.have_total || call->numbers.have_latency);
			assert_int_equal(call->numbers.calls, 7);
		} else if (!strcmp(call->function, "sampled")) {
			assert_int_equal(call->numbers.calls, 20);
			assert_int_equal(call->numbers.total_ns, 4000);
			assert_int_equal(call->numbers.mean_ns, 200);
			assert_int_equal(call->numbers.max_ns, 300);
			assert_true(call->numbers.estimated);
		} else if (!strcmp(call->function, "open")) {
			assert_true(call->numbers.have_total);
			assert_false(call->numbers.have_latency);
		} else {
			/* Timed once, then only counted: the time is what was measured. */
			assert_int_equal(call->numbers.total_ns, 50);
			assert_int_equal(call->numbers.calls, 9);
			assert_false(call->numbers.estimated);
		}
	}
	assert_int_equal(report->call_count, 4);
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_program_without_launcher_is_rank_0(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	maker_init(&maker);
	maker_process(&maker, -1, HK__ROLE__ROLE_LAUNCHER, 900, 3000);
	maker_process(&maker, -1, HK__ROLE__ROLE_MAIN, 1000, 2000);
	struct maker_process *later = maker_process(&maker, -1, HK__ROLE__ROLE_MAIN, 2100, 2500);
	later->message.exit_kind = HK__EXIT_KIND__EXIT_SIGNAL;
	later->message.exit_code = 9;
	maker.job.start_unix_ns = 900;
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	assert_int_equal(report->rank_count, 1);
	assert_int_equal(report->ranks[0].rank, 0);
	assert_int_equal(report->ranks[0].start_ns, 100);
	assert_int_equal(report->ranks[0].end_ns, 1600);
	assert_string_equal(report->ranks[0].exit.kind, "signal");
	assert_int_equal(report->ranks[0].exit.code, 9);
	assert_int_equal(report->processes[0].rank, -1);
	assert_int_equal(report->job.world_size, 1);
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_memory_of_one_row_is_joined(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	maker_init(&maker);
	for (int i = 0; i < 2; i++) {
		struct maker_process *process =
		    maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1000, 2000);
		maker_memory(process, "heap", "libz.so", 10);
		Hk__Memory *all = maker_memory(process, "heap", "*", 100 + 50 * (uint64_t)i);
		all->live_bytes = 30;
		all->allocs = 3;
	}
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	assert_int_equal(report->memory_count, 2);
	assert_string_equal(report->memory[0].library, "*");
	assert_int_equal(report->memory[0].live_bytes, 60);
	assert_int_equal(report->memory[0].allocs, 6);
	assert_int_equal(report->memory[0].peak_bytes, 150);
	assert_int_equal(report->memory[0].peak_low, 150);
	assert_int_equal(report->memory[0].peak_high, 250);
	hk_report_free(report);
	maker_fini(&maker);
}

/* Threads besides the first live by waiting, and so do launchers: no call of theirs hangs. */
static void test_idle_waits_are_told_from_open_calls(void **state)
{
	static const struct {
		Hk__Role role;
		const char *domain;
		bool first, idle;
	} cases[] = {
	    {HK__ROLE__ROLE_MAIN, "wait", false, true},
	    {HK__ROLE__ROLE_MAIN, "thread", false, true},
	    {HK__ROLE__ROLE_MAIN, "wait", true, false},
	    {HK__ROLE__ROLE_MAIN, "mpi", false, false},
	    {HK__ROLE__ROLE_LAUNCHER, "io", true, true},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct maker maker;
		struct hk_report *report;
		maker_init(&maker);
		struct maker_process *process = maker_process(&maker, 0, cases[i].role, 1000, 9000);
		maker_cell(process, cases[i].domain, "f", "app", HK_LEVEL_TIME);
		maker_open(process, 0, 1, 4000)->tid =
		    process->message.pid + (cases[i].first ? 0 : 1);
		assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
		assert_int_equal(report->open_call_count, 1);
		assert_int_equal(report->open_calls[0].idle, cases[i].idle);
		hk_report_free(report);
		maker_fini(&maker);
	}
}

static void test_open_calls_have_an_age(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1000, 9000);
	maker_cell(process, "mpi", "MPI_Recv", "app", HK_LEVEL_TIME)->calls = 1;
	maker_open(process, 0, 2, 7000);
	maker_open(process, 0, 1, 4000);
	maker_open(process, 99, 3, 4000); /* no such site */
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	assert_int_equal(report->open_call_count, 2);
	assert_int_equal(report->open_calls[0].depth, 1);
	assert_int_equal(report->open_calls[0].open_ns, 5000);
	assert_int_equal(report->open_calls[1].open_ns, 2000);
	hk_report_free(report);
	maker_fini(&maker);
}

/* Sites, buckets and lists that contradict each other are left out, whatever they say. */
static void test_nonsense_is_left_out(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1000, 9000);
	Hk__Cell *cell = maker_cell(process, "mpi", "wild", "app", HK_LEVEL_TIME);
	maker_call(cell, 10);
	maker_call(cell, 5000);
	cell->bucket[1] = 4000000000u;
	Hk__Cell *siteless = maker_cell(process, "mpi", "siteless", "app", HK_LEVEL_TIME);
	siteless->calls = 1;
	siteless->site = 4000000000u;
	process->sites[1].id = 4000000000u;
	Hk__Cell *uneven = maker_cell(process, "mpi", "uneven", "app", HK_LEVEL_TIME);
	maker_call(uneven, 10);
	uneven->n_bucket_count = 0;
	process->message.tick_ns_q32 = UINT64_MAX;
	process->message.start = NULL;
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	assert_int_equal(report->call_count, 2);
	for (size_t i = 0; i < 2; i++) {
		bool wild = !strcmp(report->calls[i].function, "wild");
		assert_int_equal(report->calls[i].numbers.timed, wild ? 1 : 0);
	}
	hk_report_free(report);
	maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows_equal_the_calls),
	    cmocka_unit_test(test_levels_decide_what_is_measured),
	    cmocka_unit_test(test_program_without_launcher_is_rank_0),
	    cmocka_unit_test(test_memory_of_one_row_is_joined),
	    cmocka_unit_test(test_open_calls_have_an_age),
	    cmocka_unit_test(test_idle_waits_are_told_from_open_calls),
	    cmocka_unit_test(test_nonsense_is_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
