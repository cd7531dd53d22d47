/* Memory over time on its whole way: from records through changes, which are sent now and then, to
 * a report; it must have arrived as the ledger has it, however often bins got wider between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/memory/memory_rows.h"
#include "hooks/hook.h"
#include "report/build/build.h"
#include "report/model/report.h"
#include "wire/change.h"

#define ROUNDS 400
#define BLOCKS 64
#define BYTES_TOLD_MAX 400u

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static int define_site(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	static const char *const libraries[] = {"/lib/a.so", "/lib/b.so"};
	(void)context;
	*ret_site = (struct hk_chunk_site){
	    .id = id,
	    .meaning = id < 2 ? HK_MEANING_ALLOC : HK_MEANING_FREE,
	    .key_count = 2,
	    .keys = {HK_KEY_POINTER, HK_KEY_SIZE},
	    .function = "f",
	    .library = libraries[id % 2],
	    .domain = "d",
	};
	return 0;
}

static void call(struct hk_ledger *ledger, uint32_t site, uint64_t block, uint64_t now)
{
	const struct hk_chunk_thread thread = {.uid = 1};
	const uint64_t words[] = {0x1000 + 16 * block, 1 + draw(1u << 20)};
	const struct hk_record record = {
	    .start_ticks = now,
	    .words = words,
	    .thread = &thread,
	    .site = site,
	    .kind = HK_CHUNK_KIND_CALL,
	    .word_count = 2,
	};
	assert_int_equal(hk_ledger_add(ledger, &record), 0);
}

/* The report of what has been told. */
static void check_report(Hk__Process *told, const struct hk_ledger *ledger)
{
	Hk__Snapshot snapshot = HK__SNAPSHOT__INIT;
	Hk__Job job = HK__JOB__INIT;
	struct hk_report *report;
	struct hk_ledger_row row;
	uint64_t at_peak = 0, most = 0;
	snapshot.job = &job;
	snapshot.processes = &told;
	snapshot.n_processes = 1;
	assert_int_equal(hk_report_new(&snapshot, &report), 0);
	assert_int_equal(hk_ledger_row(ledger, 0, &row), 1);
	assert_int_equal(report->memory_series_count, 1);
	const struct hk_report_memory_series *series = report->memory_series;
	assert_int_equal(series->count, row.series->count);
	assert_memory_equal(series->max_bytes, row.series->max_bytes,
			    series->count * sizeof(*series->max_bytes));
	assert_memory_equal(series->last_bytes, row.series->last_bytes,
			    series->count * sizeof(*series->last_bytes));
	assert_int_equal(series->width_ns, UINT64_C(1) << row.series->shift);
	for (size_t i = 0; i < series->count; i++) {
		most = series->max_bytes[i] > most ? series->max_bytes[i] : most;
	}
	assert_int_equal(most, report->memory[0].peak_bytes);
	assert_int_equal(series->last_bytes[series->count - 1], report->memory[0].live_bytes);
	for (size_t i = 1; i < report->memory_count; i++) {
		at_peak += report->memory[i].at_peak_bytes;
	}
	assert_int_equal(at_peak, report->memory[0].peak_bytes);
	hk_report_free(report);
}

/* What is new of NOW, by whole messages to those who have not been told before. Its size. */
static size_t tell(const Hk__Process *now, Hk__Process **told)
{
	Hk__Process *change;
	int r = hk_change_make(now, *told, &change);
	assert_in_range(r, 0, 1);
	if (r == 0) {
		return 0;
	}
	if (!*told) {
		assert_int_equal(hk_change_begin(change, told), 0);
	}
	assert_int_equal(hk_change_apply(*told, change), 0);
	size_t size = hk__process__get_packed_size(change);
	hk__process__free_unpacked(change, NULL);
	return size;
}

static Hk__Process *process_new(void)
{
	uint8_t uid[16] = {1};
	Hk__Process named = HK__PROCESS__INIT, *process;
	named.uid = (ProtobufCBinaryData){sizeof(uid), uid};
	assert_int_equal(hk_change_begin(&named, &process), 0);
	process->tick_ns_q32 = UINT64_C(1) << 32;
	return process;
}

static void test_the_series_arrives(void **state)
{
	const struct hk_ledger_options options = {.ticks_per_ns = 1.0, .site = define_site};
	(void)state;
	for (uint64_t i = 1; i <= 4; i++) {
		struct hk_ledger *ledger = hk_ledger_new(&options);
		Hk__Process *now = process_new(), *told = NULL;
		uint64_t ticks = 1000;
		size_t small = 0;
		seed = i;
		assert_non_null(ledger);
		for (int round = 0; round < ROUNDS; round++) {
			for (uint64_t k = draw(20) + 1; k > 0; k--) {
				ticks += draw(1u << 19);
				call(ledger, (uint32_t)draw(4), draw(BLOCKS), ticks);
			}
			call(ledger, (uint32_t)draw(2), draw(BLOCKS), ++ticks);
			hk_ledger_advance(ledger, UINT64_MAX);
			assert_int_equal(hk_memory_refresh(now, ledger), 0);
			size_t size = tell(now, &told);
			small += size < BYTES_TOLD_MAX;
			check_report(told, ledger);
		}
		/* Most changes hold a part or two of the series. */
		assert_true(small > ROUNDS * 9 / 10);
		assert_true(now->memory_series[0]->shift > HK_SERIES_SHIFT_MIN + 2);
		hk__process__free_unpacked(now, NULL);
		hk__process__free_unpacked(told, NULL);
		hk_ledger_free(ledger);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_series_arrives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
