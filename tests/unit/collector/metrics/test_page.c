/* The page of metrics: what its series say, how many they are, how long they stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../report/snapshot_maker.h"
#include "collector/lifecycle/job_close.h"
#include "collector/lifecycle/job_open.h"
#include "collector/lifecycle/job_save.h"
#include "collector/lifecycle/process_list.h"
#include "collector/metrics/message.h"
#include "collector/metrics/page.h"
#include "collector/metrics/walk.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "schema/otlp.pb-c.h"
#include "world.h"

static struct hk_job *open_job(struct world *world, const char *key)
{
	struct hk_job *job;
	const struct hk_job_request request = {.key = key, .announced = true};
	world->collector->observers[0] = hk_metrics_observe;
	assert_int_equal(hk_job_open(world->collector, &request, &job), 0);
	return job;
}

/* The processes of MAKER become JOB's, as if another node had brought them, or take the place of
 * those there are. */
static void put_processes(struct world *world, struct hk_job *job, struct maker *maker)
{
	Hk__Snapshot *snapshot = maker_snapshot(maker);
	while (job->processes) {
		hk_process_forget(world->collector, job->processes);
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		Hk__Process *process = snapshot->processes[i], *copy;
		uint8_t uid[HK_UID_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8), 1};
		process->uid = (ProtobufCBinaryData){sizeof(uid), uid};
		process->n_old_cells = 0;
		size_t size = hk__process__get_packed_size(process);
		uint8_t *bytes = malloc(size);
		assert_non_null(bytes);
		hk__process__pack(process, bytes);
		copy = hk__process__unpack(NULL, size, bytes);
		free(bytes);
		process->n_old_cells = process->n_sites;
		process->uid = (ProtobufCBinaryData){0};
		assert_non_null(copy);
		assert_int_equal(hk_process_restore(world->collector, job, copy), 0);
		job->processes->prev->changed = true;
	}
}

static char *page_of(struct world *world)
{
	char *text;
	size_t size;
	assert_int_equal(hk_metrics_render(world->collector, "", HK_EXPOSITION_TEXT, &text, &size),
			 0);
	assert_int_equal(strlen(text), size);
	return text;
}

/* What LINE's value is if it is a sample of NAME that has WITH in it. */
static bool matches(const char *line, const char *name, const char *with, double *ret_value)
{
	size_t length = strlen(name);
	const char *end = strchr(line, '\n'), *found = strstr(line, with);
	const char *space = end;
	if (strncmp(line, name, length) != 0 || (line[length] != '{' && line[length] != ' ') ||
	    !found || found > end) {
		return false;
	}
	while (space[-1] != ' ') {
		space--;
	}
	*ret_value = strtod(space, NULL);
	return true;
}

/* Sums the samples of NAME that have WITH in their line; *RET_COUNT: how many there are. */
static double sum_of(const char *page, const char *name, const char *with, size_t *ret_count)
{
	double sum = 0, value;
	*ret_count = 0;
	for (const char *line = page; *line; line = strchr(line, '\n') + 1) {
		if (matches(line, name, with, &value)) {
			sum += value;
			(*ret_count)++;
		}
	}
	return sum;
}

/* The one that there is. */
static double value_of(const char *page, const char *name, const char *with)
{
	size_t count;
	double value = sum_of(page, name, with, &count);
	if (count != 1) {
		fail_msg("%zu samples of %s with %s in\n%s", count, name, with, page);
	}
	return value;
}

static size_t count_of(const char *page, const char *name, const char *with)
{
	size_t count;
	sum_of(page, name, with, &count);
	return count;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines but comments, without their values, of which no two may be the same. Their number but for
 * the collector's own. */
static size_t check_series(const char *page)
{
	char *copy = strdup(page), *rest = copy, *line;
	char **lines = calloc(strlen(page) + 1, sizeof(char *));
	size_t count = 0, own = 0;
	assert_non_null(lines);
	while ((line = strsep(&rest, "\n")) != NULL && *line) {
		if (*line != '#') {
			*strrchr(line, ' ') = '\0';
			lines[count++] = line;
			own += !strstr(line, "hook_job=");
		}
	}
	qsort(lines, count, sizeof(char *), by_text);
	for (size_t i = 1; i < count; i++) {
		assert_string_not_equal(lines[i - 1], lines[i]);
	}
	free(lines);
	free(copy);
	return count - own;
}

static bool is_of_job(Hk__Otlp__KeyValue *const *attributes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(attributes[i]->key, "hook_job") == 0) {
			return true;
		}
	}
	return false;
}

static size_t count_numbers(Hk__Otlp__NumberDataPoint *const *points, size_t count)
{
	size_t jobs = 0;
	for (size_t i = 0; i < count; i++) {
		jobs += is_of_job(points[i]->attributes, points[i]->n_attributes);
		assert_true(points[i]->value_case == HK__OTLP__NUMBER_DATA_POINT__VALUE_AS_DOUBLE ||
			    points[i]->as_int >= 0);
	}
	return jobs;
}

static size_t count_points(const Hk__Otlp__Metric *metric)
{
	switch (metric->data_case) {
	case HK__OTLP__METRIC__DATA_SUM:
		return count_numbers(metric->sum->data_points, metric->sum->n_data_points);
	case HK__OTLP__METRIC__DATA_GAUGE:
		return count_numbers(metric->gauge->data_points, metric->gauge->n_data_points);
	default:
		assert_int_equal(metric->data_case, HK__OTLP__METRIC__DATA_HISTOGRAM);
		/* Buckets, count and sum, which the page has as series. */
		return metric->histogram->n_data_points * (HK_AGGREGATE_BOUNDS + 3);
	}
}

/* The message has as much of jobs as a page with SERIES of them. */
static void check_message(struct world *world, size_t series)
{
	uint8_t *bytes;
	size_t size, count = 0;
	assert_int_equal(hk_metrics_message(world->collector, &bytes, &size), 0);
	Hk__Otlp__ExportMetricsServiceRequest *request =
	    hk__otlp__export_metrics_service_request__unpack(NULL, size, bytes);
	assert_non_null(request);
	const Hk__Otlp__ScopeMetrics *scope = request->resource_metrics[0]->scope_metrics[0];
	for (size_t i = 0; i < scope->n_metrics; i++) {
		count += count_points(scope->metrics[i]);
	}
	assert_int_equal(count, series);
	hk__otlp__export_metrics_service_request__free_unpacked(request, NULL);
	free(bytes);
}

/* A main of RANK with COUNT calls of NS in DOMAIN. */
static Hk__Cell *rank_with(struct maker *maker, int rank, const char *domain, uint64_t ns,
			   unsigned count)
{
	struct maker_process *process =
	    maker_process(maker, rank, HK__ROLE__ROLE_MAIN, 1000, 2000000);
	Hk__Cell *cell = maker_cell(process, domain, "call", "/a", HK_LEVEL_TIME);
	for (unsigned i = 0; i < count; i++) {
		maker_call(cell, ns);
	}
	return cell;
}

static void test_durations_are_counted_between_powers_of_two(void **state)
{
	static const uint64_t durations[] = {0,		 127,	    128, 255, 256, (1ull << 34) - 1,
					     1ull << 34, 1ull << 41};
	static const struct {
		const char *le;
		double count;
	} bounds[] = {
	    {"le=\"0.000000128\"", 2}, {"le=\"0.000000256\"", 4},  {"le=\"0.000000512\"", 5},
	    {"le=\"8.589934592\"", 5}, {"le=\"17.179869184\"", 6}, {"le=\"+Inf\"", 8},
	};
	struct world world;
	struct maker maker;
	(void)state;
	world_make(&world);
	maker_init(&maker);
	Hk__Cell *cell = rank_with(&maker, 0, "mpi", durations[0], 1);
	for (size_t i = 1; i < sizeof(durations) / sizeof(durations[0]); i++) {
		maker_call(cell, durations[i]);
	}
	put_processes(&world, open_job(&world, "j"), &maker);
	char *page = page_of(&world);
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		assert_true(value_of(page, "hook_call_duration_seconds_bucket", bounds[i].le) ==
			    bounds[i].count);
	}
	assert_true(value_of(page, "hook_call_duration_seconds_count", "rank=\"0\"") == 8);
	assert_true(value_of(page, "hook_call_duration_seconds_sum", "domain=\"mpi\"") ==
		    (double)cell->total_ns / 1e9);
	assert_int_equal(count_of(page, "hook_call_duration_seconds_bucket", "le="), 29);
	free(page);
	maker_fini(&maker);
	world_remove(&world);
}

/* Two calls of 1 s at level time; then one of 1 us at level sample, for 64. */
static void test_samples_stand_for_calls_not_timed(void **state)
{
	struct world world;
	struct maker maker;
	const double wanted = 2 + 64e-6;
	(void)state;
	world_make(&world);
	maker_init(&maker);
	Hk__Cell *cell = rank_with(&maker, 0, "mpi", 1000000000, 2);
	for (int i = 0; i < 64; i++) {
		maker_call(cell, 1000);
	}
	cell->total_ns = cell->outermost_ns = 2000001000;
	maker.samples = 1;
	maker.samples_ns = 1000;
	put_processes(&world, open_job(&world, "j"), &maker);
	char *page = page_of(&world);
	static const char *const sums[] = {"hook_call_duration_seconds_sum",
					   "hook_busy_seconds_total",
					   "hook_function_seconds_total"};
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		assert_float_equal(value_of(page, sums[i], "domain=\"mpi\""), wanted, 1e-9);
	}
	free(page);
	maker_fini(&maker);
	world_remove(&world);
}

static void test_rows_are_told_by_rank_role_and_domain(void **state)
{
	struct world world;
	struct maker maker;
	(void)state;
	world_make(&world);
	maker_init(&maker);
	rank_with(&maker, 0, "mpi", 1000, 3);
	Hk__Cell *cell = rank_with(&maker, 1, "mpi", 2000, 5);
	cell->errors = 2;
	maker_call(maker_cell(maker.processes[1], "io", "read", "/b", HK_LEVEL_TIME), 70);
	maker.processes[1]->message.records = 50;
	maker.processes[1]->message.lost_records = 10;
	maker.processes[1]->message.records_dropped = 4;
	maker.processes[1]->message.records_shed = 11;
	maker_memory(maker.processes[1], "heap", "*", 4096)->live_bytes = 100;
	maker_memory(maker.processes[1], "heap", "/a", 4096);
	struct maker_process *helper =
	    maker_process(&maker, 1, HK__ROLE__ROLE_HELPER, 1000, 2000000);
	maker_call(maker_cell(helper, "mpi", "call", "/a", HK_LEVEL_TIME), 9);
	put_processes(&world, open_job(&world, "j"), &maker);
	char *page = page_of(&world);
	const char *one = "node=\"n01\",rank=\"1\",role=\"main\"";
	assert_true(value_of(page, "hook_calls_total", "rank=\"1\",role=\"main\",domain=\"mpi\"") ==
		    5);
	assert_true(
	    value_of(page, "hook_calls_total", "rank=\"1\",role=\"helper\",domain=\"mpi\"") == 1);
	assert_true(
	    value_of(page, "hook_errors_total", "rank=\"1\",role=\"main\",domain=\"mpi\"") == 2);
	assert_true(value_of(page, "hook_calls_total", "domain=\"io\"") == 1);
	assert_true(value_of(page, "hook_function_calls_total",
			     "role=\"main\",domain=\"mpi\",function=\"call\"") == 8);
	/* What found no room in the store is lost, not kept as well. */
	assert_true(value_of(page, "hook_records_total", "rank=\"1\",role=\"main\"") == 46);
	assert_true(value_of(page, "hook_records_lost_total",
			     "rank=\"1\",role=\"main\",reason=\"buffer\"") == 6);
	assert_true(value_of(page, "hook_records_lost_total",
			     "rank=\"1\",role=\"main\",reason=\"store\"") == 4);
	assert_true(value_of(page, "hook_records_lost_total",
			     "rank=\"1\",role=\"main\",reason=\"keep\"") == 11);
	assert_true(value_of(page, "hook_memory_peak_bytes", "device=\"host\",kind=\"heap\"") ==
		    4096);
	assert_true(value_of(page, "hook_rank_up", one) == 0);
	assert_true(value_of(page, "hook_rank_info", one) == 1);
	assert_true(value_of(page, "hook_metrics_series_dropped", " ") == 0);
	check_series(page);
	free(page);
	maker_fini(&maker);
	world_remove(&world);
}

static void test_names_that_look_alike_are_one_series(void **state)
{
	static const char *const names[] = {"a\nb",
					    "a\x1b"
					    "b",
					    "a\xff"
					    "b",
					    "\"a\\b}", "a?b"};
	struct world world;
	struct maker maker;
	(void)state;
	world_make(&world);
	maker_init(&maker);
	rank_with(&maker, 0, "mpi", 10, 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		maker_call(maker_cell(maker.processes[0], "mpi", names[i], "/a", HK_LEVEL_TIME), 1);
	}
	maker.processes[0]->message.host = (char *)"n\"1\n";
	put_processes(&world, open_job(&world, "j"), &maker);
	char *page = page_of(&world);
	check_series(page);
	assert_true(value_of(page, "hook_function_calls_total", "function=\"a?b\"") == 4);
	assert_true(value_of(page, "hook_function_calls_total", "function=\"\\\"a\\\\b}\"") == 1);
	assert_true(value_of(page, "hook_rank_up", "node=\"n\\\"1?\"") == 0);
	check_message(&world, check_series(page));
	free(page);
	maker_fini(&maker);
	world_remove(&world);
}

/* Calls of a job of RANKS, of each as many domains and functions, and all durations, are on a page
 * that is small enough, however they are summed up there. */
static void check_bound(int ranks, unsigned domains, const char *with)
{
	static char names[64][12];
	struct world world;
	struct maker maker;
	size_t count;
	world_make(&world);
	struct hk_job *job = open_job(&world, "j");
	maker_init(&maker);
	for (int rank = 0; rank < ranks; rank++) {
		rank_with(&maker, rank, "mpi", 1000, 1);
		for (unsigned i = 1; i < domains; i++) {
			snprintf(names[i], sizeof(names[i]), "f%u", i);
			Hk__Cell *cell = maker_cell(maker.processes[rank], names[i], names[i], "/a",
						    HK_LEVEL_TIME);
			maker_call(cell, 5000);
		}
	}
	put_processes(&world, job, &maker);
	char *page = page_of(&world);
	size_t series = check_series(page);
	assert_true(series <= HK_METRICS_SERIES_MAX);
	check_message(&world, series);
	double calls = ranks * (int)domains;
	assert_true(sum_of(page, "hook_calls_total", "", &count) == calls);
	assert_true(sum_of(page, "hook_call_duration_seconds_count", "", &count) == calls);
	assert_true(sum_of(page, "hook_call_duration_seconds_bucket", "le=\"+Inf\"", &count) ==
		    calls);
	assert_true(sum_of(page, "hook_metrics_series_dropped", "", &count) > 0);
	if (!strstr(page, with)) {
		fail_msg("no %s in\n%s", with, page);
	}
	free(page);
	maker_fini(&maker);
	world_remove(&world);
}

static void test_what_is_too_much_is_summed_up(void **state)
{
	(void)state;
	/* durations only */
	check_bound(60, 3,
		    "hook_calls_total{hook_job=\"j\",node=\"n01\",rank=\"59\",role=\"main\"");
	check_bound(60, 3,
		    "hook_call_duration_seconds_sum{hook_job=\"j\",node=\"n01\",role=\"main\"");
	/* calls as well */
	check_bound(60, 60, "hook_calls_total{hook_job=\"j\",node=\"n01\",role=\"main\"");
}

static void test_jobs_that_came_last_are_told_when_there_are_many(void **state)
{
	struct world world;
	struct maker maker;
	char name[16];
	(void)state;
	world_make(&world);
	maker_init(&maker);
	rank_with(&maker, 0, "mpi", 10, 1);
	for (int i = 0; i < 120; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		struct hk_job *job = open_job(&world, name);
		/* All jobs have the same process, which only one may have at a time. */
		put_processes(&world, job, &maker);
		assert_int_equal(hk_job_close(world.collector, job), 0);
	}
	char *page = page_of(&world);
	assert_true(check_series(page) <= HK_METRICS_SERIES_MAX);
	assert_true(value_of(page, "hook_calls_total", "hook_job=\"j119\"") == 1);
	assert_int_equal(count_of(page, "hook_calls_total", "hook_job=\"j0\""), 0);
	assert_true(value_of(page, "hook_metrics_series_dropped", " ") > 0);
	free(page);
	maker_fini(&maker);
	world_remove(&world);
}

static void test_a_job_stays_for_five_minutes(void **state)
{
	struct world world;
	struct maker maker;
	(void)state;
	world_make(&world);
	maker_init(&maker);
	rank_with(&maker, 0, "mpi", 10, 7);
	struct hk_job *job = open_job(&world, "j");
	put_processes(&world, job, &maker);
	char *page = page_of(&world);
	assert_true(value_of(page, "hook_job_running", "hook_job=\"j\"") == 1);
	free(page);
	assert_int_equal(hk_job_close(world.collector, job), 0);
	uint64_t end = job->closed_ns + HK_METRICS_KEEP_NS;
	/* The loop's time is from before the job was closed. */
	hk_metrics_expire(world.collector, job->closed_ns - 1);
	hk_metrics_expire(world.collector, end - 1);
	page = page_of(&world);
	assert_true(value_of(page, "hook_job_running", "hook_job=\"j\"") == 0);
	assert_true(value_of(page, "hook_calls_total", "rank=\"0\"") == 7);
	assert_true(value_of(page, "hook_function_calls_total", "function=\"call\"") == 7);
	free(page);
	hk_metrics_expire(world.collector, end);
	page = page_of(&world);
	assert_null(strstr(page, "hook_job="));
	assert_true(value_of(page, "hook_collector_jobs", "state=\"closed\"") == 1);
	free(page);
	maker_fini(&maker);
	world_remove(&world);
}

static void test_counters_survive_the_collector(void **state)
{
	struct world world;
	struct maker maker;
	(void)state;
	world_make(&world);
	maker_init(&maker);
	rank_with(&maker, 0, "mpi", 300, 7);
	struct hk_job *job = open_job(&world, "j");
	put_processes(&world, job, &maker);
	assert_int_equal(hk_job_save(world.collector, job), 0);
	world_restart(&world);
	char *page = page_of(&world);
	assert_true(value_of(page, "hook_calls_total", "rank=\"0\"") == 7);
	assert_true(value_of(page, "hook_call_duration_seconds_bucket", "le=\"0.000000512\"") == 7);
	free(page);
	maker_fini(&maker);
	world_remove(&world);
}

static void test_users_see_their_own_jobs(void **state)
{
	struct world world;
	struct maker maker;
	struct hk_job *job;
	char *text;
	size_t size;
	(void)state;
	world_make(&world);
	maker_init(&maker);
	rank_with(&maker, 0, "mpi", 300, 7);
	put_processes(&world, open_job(&world, "j"), &maker);
	const struct hk_job_request request = {.key = "k", .user = "alice", .announced = true};
	assert_int_equal(hk_job_open(world.collector, &request, &job), 0);
	assert_int_equal(
	    hk_metrics_render(world.collector, "alice", HK_EXPOSITION_OPENMETRICS, &text, &size),
	    0);
	assert_null(strstr(text, "hook_job=\"j\""));
	assert_non_null(strstr(text, "hook_job=\"k\""));
	assert_string_equal(text + size - strlen("# EOF\n"), "# EOF\n");
	free(text);
	maker_fini(&maker);
	world_remove(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_durations_are_counted_between_powers_of_two),
	    cmocka_unit_test(test_samples_stand_for_calls_not_timed),
	    cmocka_unit_test(test_rows_are_told_by_rank_role_and_domain),
	    cmocka_unit_test(test_names_that_look_alike_are_one_series),
	    cmocka_unit_test(test_what_is_too_much_is_summed_up),
	    cmocka_unit_test(test_jobs_that_came_last_are_told_when_there_are_many),
	    cmocka_unit_test(test_a_job_stays_for_five_minutes),
	    cmocka_unit_test(test_counters_survive_the_collector),
	    cmocka_unit_test(test_users_see_their_own_jobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
