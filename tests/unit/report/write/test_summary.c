/* The screen at the end of a job, letter by letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "report/build/build.h"
#include "report/model/report.h"
#include "report/write/write.h"
#include "snapshot_maker.h"

#define SECOND 1000000000ull

static char *written(const struct hk_report *report, bool text)
{
	const struct hk_report_style style = {.files = "./hook-lmp-48213.0/"};
	char *result = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&result, &size);

	assert_non_null(output);
	if (text) {
		for (enum hk_report_by by = HK_REPORT_BY_FUNCTION; by <= HK_REPORT_BY_PROCESS;
		     by++) {
			assert_int_equal(hk_report_write_text(report, output, by, &style), 0);
		}
		assert_int_equal(hk_report_write_csv(report, output), 0);
	} else {
		assert_int_equal(hk_report_write_summary(report, output, &style), 0);
	}
	fclose(output);
	return result;
}

static void fill(struct maker *maker, int ranks)
{
	maker_init(maker);
	maker->job.id = (char *)"48213.0";
	maker->job.command = (char *)"lmp -in in.lj";
	maker->job.exit = (char *)"exit 0";
	maker->job.closed = 1;
	maker->job.world_size = ranks;
	maker->job.start_unix_ns = 5 * SECOND;
	for (int rank = 0; rank < ranks; rank++) {
		struct maker_process *process =
		    maker_process(maker, rank, HK__ROLE__ROLE_MAIN, 5 * SECOND, 15 * SECOND);
		Hk__Cell *wait =
		    maker_cell(process, "mpi", "MPI_Wait", "/lib/liblmp.so.0", HK_LEVEL_RECORD);
		Hk__Cell *send =
		    maker_cell(process, "mpi", "MPI_Send", "/lib/liblmp.so.0", HK_LEVEL_RECORD);
		for (int i = 0; i < 4; i++) {
			maker_call(wait, rank == 2 ? SECOND / 2 : SECOND / 4);
		}
		maker_call(send, 64);
		send->bytes = 1ull << 30;
		maker_cell(process, "io", "read", "/bin/lmp", HK_LEVEL_COUNT)->calls = 6;
		maker_memory(process, "heap", "*", 212ull << 20);
		process->message.rss_peak_bytes = 298ull << 20;
		process->message.tracing_cost_ns = 3000000;
		process->message.records = 5;
		process->coverage.objects = 20;
		process->coverage.slots_patched = 500;
	}
}

static const char golden[] =
    "== hooktrace: lmp -in in.lj == job 48213.0 == 3/3 ranks, 1 node == exit 0\n"
    "wall 10.00 s   MPI 13.3 %   est. tracing cost 0.03 %   lost 0\n"
    "! time in MPI_Wait is uneven: 2.00 s on rank 2, 1.33 s on average (imbalance 1.50)\n"
    "\n"
    "rank  host  wall s  MPI s  MPI%      sent  heap peak      RSS  exit\n"
    "   0  n01    10.00   1.00  10.0  1.00 GiB    212 MiB  298 MiB     0\n"
    "   1  n01    10.00   1.00  10.0  1.00 GiB    212 MiB  298 MiB     0\n"
    "   2  n01    10.00   2.00  20.0  1.00 GiB    212 MiB  298 MiB     0\n"
    "mean         10.00   1.33  13.3  1.00 GiB    212 MiB  298 MiB\n"
    "\n"
    "call      library      calls  time s   %MPI    p50    p99  max@rank   imb\n"
    "MPI_Wait  liblmp.so.0     12    4.00  100.0  250ms  499ms   500ms@2  1.50\n"
    "MPI_Send  liblmp.so.0      3    0.00    0.0   64ns   64ns    64ns@0  1.00\n"
    "read      lmp             18       -             -      -         -     -\n"
    "\n"
    "seen: 60 objects, 1500 slots patched, 0 refused     hookcli doctor\n"
    "files: ./hook-lmp-48213.0/   next: hookcli why | report --format text | export --format "
    "perfetto\n";

static void test_summary_is_the_documented_screen(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 3);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	char *text = written(report, false);
	/* p99 is the middle of the bucket that holds 500 ms: 499 ms, well within 1/64. */
	assert_string_equal(text, golden);
	free(text);
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_a_runtime_linked_into_a_library_is_said(void **state)
{
	static const struct {
		const char *first, *second;
		bool said;
	} calls[] = {
	    {"cuLaunchKernel", "cuCtxSynchronize", true},
	    {"cuLaunchKernel", "cudaLaunchKernel", false},
	    {"cudaLaunchKernel", "cudaMalloc", false},
	};
	struct maker maker;
	struct hk_report *report;
	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const char *const functions[] = {calls[i].first, calls[i].second};
		fill(&maker, 1);
		for (size_t k = 0; k < 2; k++) {
			maker_call(maker_cell(maker.processes[0], "cuda", functions[k], "*",
					      HK_LEVEL_RECORD),
				   64);
		}
		assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
		char *text = written(report, false);
		assert_int_equal(strstr(text, "calls of the CUDA driver only") != NULL,
				 calls[i].said);
		free(text);
		hk_report_free(report);
		maker_fini(&maker);
	}
}

/* Rank 0 lasts 10 s with 1 s of MPI, rank 1 lasts 2 s with 1 s: 2 s of 12 s are 16.7 %, though the
 * ranks' shares are 10 % and 50 %. */
static void test_mean_share_is_the_share_of_the_first_line(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 2);
	Hk__Anchor *end = &maker.processes[1]->end;
	end->ticks = end->monotonic_ns = end->realtime_ns = 7 * SECOND;
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	char *text = written(report, false);
	assert_non_null(strstr(text, "wall 10.00 s   MPI 16.7 %"));
	assert_non_null(strstr(text, "mean          6.00   1.00  16.7"));
	free(text);
	hk_report_free(report);
	maker_fini(&maker);
}

/* The main process spends 1 s of its 10 s in MPI, its helper 12 s in I/O on two threads. */
static void test_helpers_are_in_the_first_line(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 1);
	struct maker_process *helper =
	    maker_process(&maker, 0, HK__ROLE__ROLE_HELPER, 5 * SECOND, 15 * SECOND);
	Hk__Cell *cell = maker_cell(helper, "io", "write", "/bin/helper", HK_LEVEL_TIME);
	maker_call(cell, 2 * SECOND);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	char *text = written(report, false);
	assert_non_null(strstr(text, "MPI 10.0 %   I/O 20.0 %   est."));
	free(text);
	hk_report_free(report);
	maker_call(cell, 5 * SECOND);
	maker_call(cell, 5 * SECOND);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	text = written(report, false);
	assert_non_null(strstr(text, "I/O 120.0 % (threads and processes summed)   est."));
	free(text);
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_tables_tell_alike_rows_apart(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 1);
	struct maker_process *launcher =
	    maker_process(&maker, -1, HK__ROLE__ROLE_LAUNCHER, 5 * SECOND, 15 * SECOND);
	maker_call(maker_cell(launcher, "io", "write", "/bin/mpirun", HK_LEVEL_TIME), 21000);
	struct maker_process *helper =
	    maker_process(&maker, 0, HK__ROLE__ROLE_HELPER, 5 * SECOND, 15 * SECOND);
	maker_call(maker_cell(helper, "io", "lseek", "/bin/git", HK_LEVEL_TIME), SECOND);
	maker_call(maker_cell(helper, "io", "lseek", "/lib/git", HK_LEVEL_TIME), SECOND);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	for (int summary = 0; summary < 2; summary++) {
		char *text = written(report, !summary);
		assert_non_null(strstr(text, "/bin/git "));
		assert_non_null(strstr(text, "/lib/git "));
		if (!summary) {
			assert_non_null(strstr(text, " 0.000021 "));
			assert_null(strstr(text, "@-1"));
		}
		free(text);
	}
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_why_records_were_not_stored_is_said(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 1);
	maker.processes[0]->message.records = 10;
	maker.processes[0]->message.lost_records = 7;
	maker.processes[0]->message.records_dropped = 6;
	maker.job.store_error = (char *)"No space left on device";
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	char *text = written(report, false);
	/* Ten were written, one found no room even for that. */
	assert_non_null(strstr(text, "! 7 of 11 records lost"));
	assert_non_null(strstr(text, "holes (not stored: No space left on device)"));
	assert_null(strstr(text, "--on-full")); /* waiting would not help */
	free(text);
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_what_is_missing_is_said(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 2);
	maker.job.world_size = 4;
	maker.processes[0]->message.lost_records = 7;
	maker.processes[1]->message.calls_untracked = 3;
	maker.processes[1]->message.n_memory = maker.processes[0]->message.n_memory = 0;
	maker.processes[1]->message.note = (char *)"no room in /dev/shm";
	maker_open(maker.processes[1], 0, 1, 14 * SECOND);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	char *text = written(report, false);
	static const char *const said[] = {
	    "! 7 of 17 records lost",
	    "! 3 calls found no room",
	    "! only 2 of 4 ranks",
	    "host heap not traced",
	    "rank 1: no room in /dev/shm",
	    "open: rank 1 thread 0 MPI_Wait <- liblmp.so.0 for 1.00s",
	};
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (!strstr(text, said[i])) {
			fail_msg("'%s' is not in:\n%s", said[i], text);
		}
	}
	free(text);
	hk_report_free(report);
	maker_fini(&maker);
}

/* The fullest device of each rank; of one that used none, nothing is said. */
static void test_device_memory_has_a_column(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 2);
	maker_memory(maker.processes[1], "device", "*", 3ull << 30)->device = 0;
	maker_memory(maker.processes[1], "device", "*", 5ull << 30)->device = 1;
	maker_memory(maker.processes[1], "device", "libz.so", 9ull << 30)->device = 1;
	maker_memory(maker.processes[1], "pinned", "*", 8ull << 30);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	char *text = written(report, false);
	static const char *const said[] = {
	    "heap peak  device peak      RSS  exit\n",
	    "  212 MiB            -  298 MiB     0\n",
	    "  212 MiB     5.00 GiB  298 MiB     0\n",
	};
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (!strstr(text, said[i])) {
			fail_msg("'%s' is not in:\n%s", said[i], text);
		}
	}
	free(text);
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_idle_waits_do_not_push_out_what_the_job_did(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 1);
	Hk__Cell *poll =
	    maker_cell(maker.processes[0], "wait", "poll", "/lib/libevent.so", HK_LEVEL_TIME);
	maker_call(poll, 9 * SECOND);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	char *text = written(report, false);
	assert_null(strstr(text, "poll"));
	assert_non_null(strstr(text, "(waits for events and threads: 1 calls, 9.00 s)"));
	assert_non_null(strstr(text, "MPI_Wait"));
	free(text);
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_many_ranks_are_spread_not_listed(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 40);
	maker.processes[37]->message.exit_kind = HK__EXIT_KIND__EXIT_SIGNAL;
	maker.processes[37]->message.exit_code = 9;
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	char *text = written(report, false);
	size_t lines = 0;
	for (const char *at = text; *at; at++) {
		lines += *at == '\n';
	}
	assert_true(lines < 25);
	assert_non_null(strstr(text, "rank 2: 2.00")); /* the outlier of MPI s */
	assert_non_null(strstr(text, "rank 37 signal 9"));
	free(text);
	hk_report_free(report);
	maker_fini(&maker);
}

static void test_hostile_names_reach_no_terminal(void **state)
{
	struct maker maker;
	struct hk_report *report;
	(void)state;
	fill(&maker, 1);
	struct maker_process *process = maker.processes[0];
	const char *name = "\033]0;owned\007\xff\xc2\x9b\r";
	maker.job.id = maker.job.command = maker.job.exit = (char *)name;
	process->message.host = process->message.command = process->message.note = (char *)name;
	process->sites[0].function = process->sites[0].library = (char *)name;
	process->memory[0].library = process->memory[0].kind = (char *)name;
	maker_open(process, 0, 1, 14 * SECOND);
	assert_int_equal(hk_report_new(maker_snapshot(&maker), &report), 0);
	char *text = written(report, false);
	for (const char *at = text; *at; at++) {
		assert_true((unsigned char)*at >= ' ' || *at == '\n');
	}
	free(text);
	text = written(report, true);
	assert_null(strstr(text, "\xc2\x9b"
				 "x"));
	hk_report_free(report);
	free(text);
	maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_summary_is_the_documented_screen),
	    cmocka_unit_test(test_what_is_missing_is_said),
	    cmocka_unit_test(test_a_runtime_linked_into_a_library_is_said),
	    cmocka_unit_test(test_helpers_are_in_the_first_line),
	    cmocka_unit_test(test_tables_tell_alike_rows_apart),
	    cmocka_unit_test(test_mean_share_is_the_share_of_the_first_line),
	    cmocka_unit_test(test_why_records_were_not_stored_is_said),
	    cmocka_unit_test(test_device_memory_has_a_column),
	    cmocka_unit_test(test_idle_waits_do_not_push_out_what_the_job_did),
	    cmocka_unit_test(test_many_ranks_are_spread_not_listed),
	    cmocka_unit_test(test_hostile_names_reach_no_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
