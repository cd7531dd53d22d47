/* The JSON contract: exact keys, null where nothing was measured, any name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>

#include "report/build/build.h"
#include "report/findings/findings.h"
#include "report/model/report.h"
#include "report/write/write.h"
#include "snapshot_maker.h"

/* The documented fields of each table; more may follow, none may be missing. */
static const struct {
	const char *table;
	const char *keys[18];
} contract[] = {
    {"ranks",
     {"rank", "host", "pid", "start_ns", "end_ns", "cpu_ns", "rss_peak_bytes", "exit", "records",
      "lost_records", "shed_records", "clock", "tracing_cost_ns"}},
    {"processes", {"rank", "pid", "role", "command", "exit", "agent", "note"}},
    {"calls",
     {"rank", "role", "domain", "function", "library", "calls", "errors", "total_ns", "self_ns",
      "outermost_ns", "bytes", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"}},
    {"memory",
     {"rank", "role", "device", "kind", "library", "allocs", "frees", "live_bytes", "peak_bytes",
      "peak_low", "peak_high", "peak_time_ns"}},
    {"open_calls", {"rank", "thread", "depth", "function", "library", "open_ns"}},
    {"governor", {"rank", "pattern", "from", "to", "time_ns"}},
    {"coverage",
     {"rank", "objects", "slots_patched", "slots_refused", "notes", "slots_found", "refused",
      "objects_pending", "hooks", "symbols_escaped", "namespaces_hidden", "objects_hidden"}},
};

static json_t *make(struct maker *maker)
{
	struct hk_report *report;
	char *text = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&text, &size);

	assert_int_equal(hk_report_new(maker_snapshot(maker), &report), 0);
	assert_int_equal(hk_report_write_json(report, NULL, output), 0);
	fclose(output);
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!root) {
		print_error("%s at %d: %s\n", error.text, error.line, text);
	}
	assert_non_null(root);
	free(text);
	hk_report_free(report);
	return root;
}

static void fill(struct maker *maker, const char *name)
{
	maker_init(maker);
	maker->job.id = maker->job.name = maker->job.command = (char *)name;
	struct maker_process *process = maker_process(maker, 0, HK__ROLE__ROLE_MAIN, 1000, 9000);
	process->message.host = process->message.command = process->message.note = (char *)name;
	maker_cell(process, name, name, name, HK_LEVEL_COUNT)->calls = 3;
	maker_memory(process, name, name, 10);
	maker_open(process, 0, 1, 2000);
	maker_step(process, name, HK_LEVEL_RECORD, HK_LEVEL_COUNT, 3000);
}

static void test_contract_is_exact(void **state)
{
	static const char *const job[] = {
	    "id",	   "name",	 "command",	   "start_unix_ns",
	    "duration_ns", "world_size", "tracing_cost_ns"};
	static const char *const clock[] = {"offset_ns", "drift_ppm", "error_ns"};
	struct maker maker;
	(void)state;
	fill(&maker, "x");
	json_t *root = make(&maker);
	for (size_t i = 0; i < sizeof(job) / sizeof(job[0]); i++) {
		assert_non_null(json_object_get(json_object_get(root, "job"), job[i]));
	}
	for (size_t t = 0; t < sizeof(contract) / sizeof(contract[0]); t++) {
		json_t *table = json_object_get(root, contract[t].table);
		assert_int_equal(json_array_size(table), 1);
		for (size_t k = 0; contract[t].keys[k]; k++) {
			if (!json_object_get(json_array_get(table, 0), contract[t].keys[k])) {
				fail_msg("%s lacks %s", contract[t].table, contract[t].keys[k]);
			}
		}
	}
	json_t *rank = json_array_get(json_object_get(root, "ranks"), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_true(
		    json_is_number(json_object_get(json_object_get(rank, "clock"), clock[i])));
	}
	assert_non_null(json_object_get(json_object_get(rank, "exit"), "code"));
	json_t *call = json_array_get(json_object_get(root, "calls"), 0);
	assert_int_equal(json_integer_value(json_object_get(call, "calls")), 3);
	for (size_t k = 7; contract[2].keys[k]; k++) {
		bool null = strcmp(contract[2].keys[k], "bytes") != 0;
		assert_int_equal(json_is_null(json_object_get(call, contract[2].keys[k])), null);
	}
	json_t *step = json_array_get(json_object_get(root, "governor"), 0);
	assert_string_equal(json_string_value(json_object_get(step, "from")), "record");
	assert_string_equal(json_string_value(json_object_get(step, "to")), "count");
	assert_int_equal(json_integer_value(json_object_get(step, "time_ns")), 2000);
	json_decref(root);
	maker_fini(&maker);
}

static void test_findings_are_those_of_the_summary(void **state)
{
	struct hk_findings findings;
	struct hk_report *report;
	struct maker maker;
	(void)state;
	fill(&maker, "x");
	json_t *root = make(&maker);
	json_t *list = json_object_get(root, "findings");
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	assert_int_equal(hk_findings_init(&findings, report), 0);
	assert_true(findings.count > 0);
	assert_int_equal(json_array_size(list), findings.count);
	for (size_t i = 0; i < findings.count; i++) {
		const json_t *row = json_array_get(list, i);
		assert_string_equal(json_string_value(json_object_get(row, "evidence")),
				    findings.list[i].text);
		assert_string_equal(json_string_value(json_object_get(row, "kind")),
				    hk_finding_topic_name(findings.list[i].topic));
		assert_string_equal(json_string_value(json_object_get(row, "weight")),
				    hk_finding_weight_name(findings.list[i].weight));
	}
	hk_findings_fini(&findings);
	hk_report_free(report);
	json_decref(root);
	maker_fini(&maker);
}

static void test_any_name_survives(void **state)
{
	static const char *const names[][2] = {
	    {"quote\" back\\slash", "quote\" back\\slash"},
	    {"esc\033[31m\n\t", "esc\033[31m\n\t"},
	    {"caf\xc3\xa9", "caf\xc3\xa9"},
	    {"bad\xff\xc3", "bad\xef\xbf\xbd\xef\xbf\xbd"},
	    {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	    {"", ""},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct maker maker;
		fill(&maker, names[i][0]);
		json_t *root = make(&maker);
		json_t *call = json_array_get(json_object_get(root, "calls"), 0);
		assert_string_equal(json_string_value(json_object_get(call, "function")),
				    names[i][1]);
		json_decref(root);
		maker_fini(&maker);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_contract_is_exact),
	    cmocka_unit_test(test_findings_are_those_of_the_summary),
	    cmocka_unit_test(test_any_name_survives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
