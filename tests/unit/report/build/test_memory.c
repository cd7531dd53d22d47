/* Memory by library and over time, as a report has it of one and of several processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "report/build/build.h"
#include "report/model/report.h"
#include "snapshot_maker.h"

static struct hk_report *report_of(struct maker *maker)
{
	struct hk_report *report;
	assert_int_equal(hk_report_new(maker_snapshot(maker), &report), 0);
	return report;
}

static const struct hk_report_memory *row_of(const struct hk_report *report, const char *library)
{
	const struct hk_report_memory *found = NULL;
	for (size_t i = 0; i < report->memory_count; i++) {
		if (strcmp(report->memory[i].library, library) == 0) {
			assert_null(found);
			found = &report->memory[i];
		}
	}
	assert_non_null(found);
	return found;
}

static void add_memory(struct maker_process *process, const char *library, uint64_t peak,
		       uint64_t at_peak)
{
	maker_memory(process, "heap", library, peak)->at_peak_bytes = at_peak;
}

/* Two processes of one rank: what was live at the peak is that of the one with the higher peak. */
static void test_one_process_has_the_peak(void **state)
{
	struct maker maker;
	(void)state;
	maker_init(&maker);
	struct maker_process *low = maker_process(&maker, 0, HK__ROLE__ROLE_HELPER, 1000, 2000);
	add_memory(low, "liba.so", 100, 100);
	add_memory(low, "*", 100, 100);
	struct maker_process *high = maker_process(&maker, 0, HK__ROLE__ROLE_HELPER, 1500, 2500);
	add_memory(high, "libb.so", 400, 150);
	add_memory(high, "libc.so", 350, 350);
	add_memory(high, "*", 500, 500);
	struct hk_report *report = report_of(&maker);
	assert_int_equal(report->memory_count, 4);
	assert_int_equal(row_of(report, "*")->at_peak_bytes, 500);
	assert_int_equal(row_of(report, "liba.so")->at_peak_bytes, 0);
	assert_int_equal(row_of(report, "libb.so")->at_peak_bytes, 150);
	assert_int_equal(row_of(report, "libc.so")->at_peak_bytes, 350);
	assert_true(row_of(report, "liba.so")->have_at_peak);
	hk_report_free(report);
	maker_fini(&maker);
}

/* Other kinds and ranks have peaks of their own; peaks that were not kept are unknown. */
static void test_each_kind_has_its_peak(void **state)
{
	struct maker maker;
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1000, 2000);
	add_memory(process, "*", 100, 100);
	add_memory(process, "liba.so", 100, 100);
	maker_memory(process, "map", "*", 50);
	maker_memory(process, "map", "libm.so", 50);
	struct hk_report *report = report_of(&maker);
	assert_int_equal(row_of(report, "liba.so")->at_peak_bytes, 100);
	assert_true(row_of(report, "liba.so")->have_at_peak);
	assert_false(row_of(report, "libm.so")->have_at_peak);
	hk_report_free(report);
	maker_fini(&maker);
}

/* ---- over time ---- */

/* Parts of a process's series, with room for 20 bins each. */
struct parts {
	Hk__MemorySeries part[8], *list[8];
	uint64_t max[8][20], last[8][20];
};

static Hk__MemorySeries *add_part(struct maker_process *process, struct parts *parts,
				  uint32_t number, size_t bins)
{
	size_t index = process->message.n_memory_series++;
	Hk__MemorySeries *part = parts->list[index] = &parts->part[index];
	hk__memory_series__init(part);
	part->kind = (char *)(uintptr_t) "heap";
	part->device = -1;
	part->part = number;
	part->shift = 20;
	part->start_ticks = 1500;
	part->max_bytes = parts->max[index];
	part->last_bytes = parts->last[index];
	part->n_max_bytes = part->n_last_bytes = bins;
	for (size_t i = 0; i < bins; i++) {
		parts->max[index][i] = number * 1000 + 10 * i + 5;
		parts->last[index][i] = number * 1000 + 10 * i;
	}
	process->message.memory_series = parts->list;
	return part;
}

/* Parts in any order make one series, which ends where a part is not full. */
static void test_parts_become_a_series(void **state)
{
	struct maker maker;
	struct parts parts;
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 3, HK__ROLE__ROLE_MAIN, 1000, 9000);
	add_part(process, &parts, 2, 5);
	add_part(process, &parts, 0, 16);
	add_part(process, &parts, 1, 16);
	add_part(process, &parts, 3, 16);
	struct hk_report *report = report_of(&maker);
	assert_int_equal(report->memory_series_count, 1);
	const struct hk_report_memory_series *series = report->memory_series;
	assert_int_equal(series->rank, 3);
	assert_int_equal(series->pid, 1000);
	assert_string_equal(series->role, "main");
	assert_string_equal(series->kind, "heap");
	assert_int_equal(series->device, -1);
	assert_int_equal(series->start_ns, 500);
	assert_int_equal(series->width_ns, 1u << 20);
	assert_int_equal(series->end_ns, 8000);
	assert_int_equal(series->count, 37);
	assert_int_equal(series->max_bytes[0], 5);
	assert_int_equal(series->last_bytes[17], 1010);
	assert_int_equal(series->max_bytes[36], 2045);
	hk_report_free(report);
	maker_fini(&maker);
}

/* What is left of narrower bins, or of another beginning, is no part of it. */
static void test_parts_from_before_do_not_count(void **state)
{
	struct maker maker;
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct parts parts;
		maker_init(&maker);
		struct maker_process *process =
		    maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1000, 9000);
		add_part(process, &parts, 0, 16);
		Hk__MemorySeries *old = add_part(process, &parts, 1, 16);
		old->shift -= i == 0;
		old->start_ticks -= i == 1;
		struct hk_report *report = report_of(&maker);
		assert_int_equal(report->memory_series_count, 1);
		assert_int_equal(report->memory_series[0].count, 16);
		hk_report_free(report);
		maker_fini(&maker);
	}
}

/* Anybody can say anything. */
static void test_nonsense_is_no_series(void **state)
{
	struct maker maker;
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct parts parts;
		maker_init(&maker);
		struct maker_process *process =
		    maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1000, 9000);
		Hk__MemorySeries *part = add_part(process, &parts, 0, 16);
		part->shift = i == 0 ? 57 : part->shift;
		part->n_max_bytes -= i == 1;
		part->n_last_bytes = part->n_max_bytes = i == 2 ? 0 : part->n_max_bytes;
		part->n_last_bytes = part->n_max_bytes = i == 3 ? 17 : part->n_max_bytes;
		part->part = i == 4 ? 1 : 0;
		if (i == 1) {
			part->n_last_bytes = 16;
		}
		struct hk_report *report = report_of(&maker);
		assert_int_equal(report->memory_series_count, 0);
		hk_report_free(report);
		maker_fini(&maker);
	}
}

/* Each process its own, sorted; of a part that is there twice the first counts. */
static void test_each_process_has_its_series(void **state)
{
	struct maker maker;
	struct parts parts[3];
	(void)state;
	maker_init(&maker);
	struct maker_process *helper = maker_process(&maker, 0, HK__ROLE__ROLE_HELPER, 1000, 9000);
	struct maker_process *late = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 5000, 9000);
	struct maker_process *early = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1000, 4000);
	add_part(helper, &parts[0], 0, 1);
	add_part(late, &parts[1], 0, 2)->start_ticks = 5000;
	add_part(early, &parts[2], 0, 3);
	add_part(early, &parts[2], 0, 3);
	add_part(early, &parts[2], 0, 4)->kind = (char *)(uintptr_t) "map";
	struct hk_report *report = report_of(&maker);
	assert_int_equal(report->memory_series_count, 4);
	assert_int_equal(report->memory_series[0].count, 3);
	assert_int_equal(report->memory_series[1].count, 2);
	assert_string_equal(report->memory_series[2].kind, "map");
	assert_string_equal(report->memory_series[3].role, "helper");
	hk_report_free(report);
	maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_process_has_the_peak),
	    cmocka_unit_test(test_each_kind_has_its_peak),
	    cmocka_unit_test(test_parts_become_a_series),
	    cmocka_unit_test(test_parts_from_before_do_not_count),
	    cmocka_unit_test(test_nonsense_is_no_series),
	    cmocka_unit_test(test_each_process_has_its_series),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
