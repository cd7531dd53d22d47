/* What a report says in sentences: with evidence, and not without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/build/build.h"
#include "report/finding/finding.h"
#include "report/findings/findings.h"
#include "report/model/report.h"
#include "ring/segment.h"
#include "snapshot_maker.h"

#define SECOND 1000000000ull

/* Four ranks of ten seconds, in MPI for `mpi_s` of them. */
static void fill(struct maker *maker, const unsigned mpi_s[4])
{
	maker_init(maker);
	maker->job.world_size = 4;
	maker->job.start_unix_ns = 5 * SECOND;
	for (int rank = 0; rank < 4; rank++) {
		struct maker_process *process =
		    maker_process(maker, rank, HK__ROLE__ROLE_MAIN, 5 * SECOND, 15 * SECOND);
		Hk__Cell *reduce =
		    maker_cell(process, "mpi", "MPI_Allreduce", "/bin/lmp", HK_LEVEL_RECORD);
		for (unsigned i = 0; i < mpi_s[rank]; i++) {
			maker_call(reduce, SECOND);
		}
		process->message.records = 5;
	}
}

/* The sentences of the job, each on a line: topic, weight, text. */
static char *told(struct maker *maker)
{
	struct hk_findings findings;
	struct hk_report *report;
	char *text = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&text, &size);

	assert_int_equal(hk_report_new(maker_snapshot(maker), &report), 0);
	assert_int_equal(hk_findings_init(&findings, report), 0);
	for (size_t i = 0; i < findings.count; i++) {
		fprintf(output, "%s %s: %s\n", hk_finding_topic_name(findings.list[i].topic),
			hk_finding_weight_name(findings.list[i].weight), findings.list[i].text);
	}
	hk_findings_fini(&findings);
	hk_report_free(report);
	fclose(output);
	maker_fini(maker);
	return text;
}

static void expect(char *text, const char *words, bool there)
{
	if (!strstr(text, words) == there) {
		fail_msg("'%s' is %s in:\n%s", words, there ? "not" : "", text);
	}
}

#define BINS 96u
#define PART 16u
#define SHIFT 26u /* 67 ms */

/* What PROCESS did of KIND from 6 s on, in bins of about MS each, a tenth more or less. */
static void fill_activity(struct maker_process *process, Hk__ActivityKind kind, unsigned ms)
{
	static Hk__Activity parts[8][BINS / PART], *lists[8][BINS / PART];
	static uint64_t values[8][BINS];
	static unsigned next;
	unsigned row = next++ % 8;

	for (unsigned i = 0; i < BINS; i++) {
		values[row][i] = ms * (900000ull + (i * 7919 + row * 104729) % 200001);
	}
	for (unsigned i = 0; i < BINS / PART; i++) {
		Hk__Activity *part = &parts[row][i];
		hk__activity__init(part);
		part->kind = kind;
		part->part = i;
		part->start_ticks = 6 * SECOND;
		part->shift = SHIFT;
		part->value = &values[row][(size_t)i * PART];
		part->n_value = PART;
		lists[row][i] = part;
	}
	process->message.activity = lists[row];
	process->message.n_activity = BINS / PART;
}

static void fill_usual(struct maker_process *process, unsigned ms, unsigned usual_ms)
{
	static Hk__Activity *both[8][2 * BINS / PART];
	static unsigned next;
	Hk__Activity **list = both[next++ % 8];

	fill_activity(process, HK__ACTIVITY_KIND__ACTIVITY_WORK, ms);
	memcpy(list, process->message.activity, sizeof(both[0]) / 2);
	fill_activity(process, HK__ACTIVITY_KIND__ACTIVITY_USUAL, usual_ms);
	memcpy(list + BINS / PART, process->message.activity, sizeof(both[0]) / 2);
	process->message.activity = list;
	process->message.n_activity = 2 * BINS / PART;
}

/* Work that nothing disturbs: all of it is usual. */
static void fill_work(struct maker_process *process, unsigned ms)
{
	fill_usual(process, ms, ms);
}

static void test_a_late_rank_is_named_with_its_numbers(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		fill_work(maker.processes[rank], rank == 2 ? 33 : 30);
	}
	char *text = told(&maker);
	expect(text, "balance finding: rank 2 is late: between MPI calls it works 3.", true);
	expect(text, " s, 10 % (\302\2611) above the median of the others, in no function ", true);
	expect(text, "time fact: of the ranks' time 40.0 % in MPI, with what these call;", true);
	expect(text, "time fact: most time is in MPI_Allreduce: 16.0 s over all ranks, 40.0 %",
	       true);
	free(text);
}

/* Others have the processors for most of the time: there the ranks do a step now and then, in some
 * bins one more than the others. */
/* The same with so many calls that tracing them may be what takes rank 2 longer. */
static void test_a_rank_is_not_late_by_what_tracing_adds(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		struct maker_process *process = maker.processes[rank];
		fill_work(process, rank == 2 ? 33 : 30);
		maker_cell(process, "mpi", "MPI_Isend", "/bin/lmp", HK_LEVEL_RECORD)->calls =
		    4000000;
	}
	char *text = told(&maker);
	expect(text, "is late", false);
	free(text);
}

static void test_a_late_rank_is_named_where_ranks_mostly_stand_still(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		fill_work(maker.processes[rank], rank == 2 ? 33 : 30);
		Hk__Process *message = &maker.processes[rank]->message;
		for (size_t i = 0; i < message->n_activity; i++) {
			/* Parts are 16 bins, a sixth of the time: two of three stand still. */
			for (size_t k = 0; message->activity[i]->part % 3 && k < PART; k++) {
				message->activity[i]->value[k] = rank != 2 && k == 7 ? 1000000 : 0;
			}
		}
	}
	char *text = told(&maker);
	expect(text, "rank 2 is late", true);
	free(text);
}

static void test_the_function_that_makes_a_rank_late_is_named(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		fill_activity(maker.processes[rank], HK__ACTIVITY_KIND__ACTIVITY_WORK,
			      rank == 1 ? 60 : 30);
		Hk__Cell *sleep = maker_cell(maker.processes[rank], "wait", "clock_nanosleep",
					     "/bin/lmp", HK_LEVEL_TIME);
		for (int i = 0; i < (rank == 1 ? 3 : 1); i++) {
			maker_call(sleep, SECOND);
		}
	}
	char *text = told(&maker);
	expect(text, "rank 1 is late: ", true);
	expect(text, "above the median of the others, 2.00 s of that in clock_nanosleep\n", true);
	free(text);
}

/* gloo's own threads move its messages: that is not what makes a rank late. */
static void test_a_message_of_gloo_is_no_cause(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		struct maker_process *process = maker.processes[rank];
		process->sites[0].domain = (char *)(uintptr_t) "c10d";
		process->sites[0].function =
		    (char *)(uintptr_t) "_ZN4c10d7Reducer17finalize_backwardEv";
		fill_work(process, rank == 1 ? 60 : 30);
		Hk__Cell *write = maker_cell(process, "io", "writev", "/torch/lib/libtorch_cpu.so",
					     HK_LEVEL_TIME);
		for (int i = 0; i < (rank == 1 ? 3 : 1); i++) {
			maker_call(write, SECOND);
		}
	}
	char *text = told(&maker);
	expect(text, "rank 1 is late: between torch.distributed calls it works ", true);
	expect(text, ", in no function that was hooked outside torch.distributed\n", true);
	free(text);
}

/* MPI sleeps until all ranks have come to MPI_Init: that is not what makes a rank late. */
static void test_a_function_that_mpi_called_is_no_cause(void **state)
{
	for (int own = 0; own < 2; own++) {
		struct maker maker;
		(void)state;
		fill(&maker, (const unsigned[]){4, 4, 4, 4});
		for (int rank = 0; rank < 4; rank++) {
			struct maker_process *process = maker.processes[rank];
			fill_work(process, rank == 1 ? 60 : 30);
			Hk__Cell *sleep = maker_cell(process, "wait", "usleep",
						     "/lib/libopen-pal.so", HK_LEVEL_TIME);
			for (int i = 0; i < (rank == 1 ? 3 : 1); i++) {
				maker_call(sleep, SECOND);
				process->cells[0].self_ns -= SECOND;
			}
			Hk__Cell *file =
			    maker_cell(process, "io", "read", "/bin/lmp", HK_LEVEL_TIME);
			for (int i = 0; own && i < (rank == 1 ? 6 : 1); i++) {
				maker_call(file, SECOND);
			}
		}
		char *text = told(&maker);
		expect(text, "rank 1 is late: ", true);
		expect(text, " in usleep", false);
		expect(text, " in no function", false);
		expect(text, " above the median of the others, 2.00 s of that in read", own);
		free(text);
	}
}

/* Its steps are as long as the others' when nothing disturbs them, but something mostly does. */
static void test_a_slow_processor_is_no_late_rank(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		fill_activity(maker.processes[rank], HK__ACTIVITY_KIND__ACTIVITY_WORK,
			      rank == 1 ? 36 : 30);
	}
	char *text = told(&maker);
	expect(text, "is late", false);
	free(text);
}

/* As LAMMPS on equal ranks: what counts as usual differs, and the work does not. */
static void test_a_rank_with_as_much_work_is_not_late(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		fill_usual(maker.processes[rank], 36, rank == 2 ? 33 : 30);
	}
	char *text = told(&maker);
	expect(text, "is late", false);
	free(text);
}

/* Its usual work is a tenth longer in the middle, but varies so much that chance may explain it. */
static void test_a_rank_with_more_work_is_late_though_its_usual_work_varies(void **state)
{
	static const double varies[] = {1.1, 1.1, 0.4, 1.8};
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		fill_usual(maker.processes[rank], rank == 2 ? 44 : 40, 30);
	}
	Hk__Process *message = &maker.processes[2]->message;
	for (size_t i = BINS / PART; i < message->n_activity; i++) {
		for (size_t k = 0; k < PART; k++) {
			uint64_t *value = &message->activity[i]->value[k];
			size_t batch = (message->activity[i]->part * PART + k) / (BINS / 16);
			*value = (uint64_t)((double)*value * varies[batch % 4]);
		}
	}
	char *text = told(&maker);
	expect(text, "rank 2 is late: between MPI calls it works 4.", true);
	expect(text, " s, 10 % (\302\2612) above the median of the others", true);
	free(text);
}

static void test_a_rank_without_a_processor_is_not_late(void **state)
{
	static Hk__Activity *lists[4][2 * BINS / PART];
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		struct maker_process *process = maker.processes[rank];
		Hk__Activity **both = lists[rank];
		fill_activity(process, HK__ACTIVITY_KIND__ACTIVITY_WORK, 30);
		memcpy(both, process->message.activity, sizeof(lists[0]) / 2);
		fill_activity(process, HK__ACTIVITY_KIND__ACTIVITY_WAITING, rank == 3 ? 20 : 5);
		memcpy(both + BINS / PART, process->message.activity, sizeof(lists[0]) / 2);
		process->message.activity = both;
		process->message.n_activity = 2 * BINS / PART;
	}
	char *text = told(&maker);
	expect(text, "is late", false);
	expect(text, "balance finding: rank 3 waits for a processor: between MPI calls 1.", true);
	free(text);
}

/* Says what is found where rank 2 works longer, and DELAY_MS of a bin each rank waits for a
 * processor, in calls that sleep too. The caller frees it. */
static char *told_of_delays(const unsigned delay_ms[4])
{
	static Hk__Activity *lists[4][2 * BINS / PART];
	struct maker maker;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	for (int rank = 0; rank < 4; rank++) {
		struct maker_process *process = maker.processes[rank];
		Hk__Activity **both = lists[rank];
		fill_activity(process, HK__ACTIVITY_KIND__ACTIVITY_WORK, rank == 2 ? 50 : 30);
		memcpy(both, process->message.activity, sizeof(lists[0]) / 2);
		fill_activity(process, HK__ACTIVITY_KIND__ACTIVITY_DELAY, delay_ms[rank]);
		memcpy(both + BINS / PART, process->message.activity, sizeof(lists[0]) / 2);
		process->message.activity = both;
		process->message.n_activity = 2 * BINS / PART;
	}
	return told(&maker);
}

static void test_a_rank_that_wakes_late_for_want_of_a_processor_is_not_late(void **state)
{
	(void)state;
	char *text = told_of_delays((const unsigned[]){2, 2, 20, 2});
	expect(text, "is late", false);
	expect(text, "balance finding: rank 2 waits for a processor: ", true);
	free(text);
	text = told_of_delays((const unsigned[]){2, 2, 4, 2});
	expect(text, "balance finding: rank 2 is late: ", true);
	expect(text, "waits for a processor", false);
	free(text);
}

/* One number a rank says nothing of how much such numbers vary. */
static void test_a_difference_that_was_seen_once_is_no_finding(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 3, 4});
	char *text = told(&maker);
	expect(text, "is late", false);
	free(text);
}

static void test_even_ranks_are_not_blamed(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	char *text = told(&maker);
	expect(text, "finding", false);
	expect(text, "records fact: nothing was lost: all 20 records are there\n", true);
	expect(text, "clocks fact: one node, one clock", true);
	free(text);
}

/* It waits longer than the others, which do not wait for it. */
static void test_a_rank_that_waits_is_uneven_and_not_late(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){2, 8, 2, 2});
	char *text = told(&maker);
	expect(text, "is late", false);
	expect(text, "time in MPI_Allreduce is uneven: 8.00 s on rank 1, 3.50 s on average", true);
	free(text);
}

static void test_peaks_say_where_when_and_whose(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	maker_memory(maker.processes[0], "heap", "*", 3ull << 20);
	maker_memory(maker.processes[3], "heap", "*", 7ull << 20);
	maker_memory(maker.processes[3], "heap", "/lib/liba.so", 9ull << 20);
	maker.processes[3]->message.rss_peak_bytes = 50ull << 20;
	char *text = told(&maker);
	expect(text, "memory fact: heap memory peaks on rank 3: 7.00 MiB at", true);
	expect(text, "memory fact: resident memory peaks on rank 3: 50.0 MiB", true);
	expect(text, "device memory", false);
	free(text);
}

static void test_loss_is_a_warning_and_then_nothing_says_otherwise(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	maker.processes[1]->message.lost_records = 9;
	maker.job.store_error = (char *)"full\033[2J";
	char *text = told(&maker);
	expect(text, "records warning: 9 of 29 records lost", true);
	expect(text, "not stored: full?[2J", true);
	expect(text, "nothing was lost", false);
	free(text);
}

static void test_nothing_is_lost_only_if_all_nodes_are_here(void **state)
{
	struct maker maker;
	Hk__Node node = HK__NODE__INIT, *nodes[] = {&node};
	uint8_t id[16] = {1};
	(void)state;
	node.id = (ProtobufCBinaryData){sizeof(id), id};
	node.host = (char *)"n01";
	node.opened_unix_ns = node.seen_unix_ns = 1;
	for (int silent = 0; silent < 2; silent++) {
		fill(&maker, (const unsigned[]){4, 4, 4, 4});
		node.complete = !silent;
		maker.job.nodes = nodes;
		maker.job.n_nodes = 1;
		char *text = told(&maker);
		expect(text, "nothing was lost", !silent);
		free(text);
	}
}

static void test_a_full_store_is_a_warning_while_the_job_runs(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	maker.job.directory = (char *)"/store\033[2J";
	maker.job.store_full = true;
	maker.job.closed = false;
	char *text = told(&maker);
	expect(text, "records warning: the store is full", true);
	expect(text, "free space in /store?[2J, or start with a smaller --keep", true);
	expect(text, "nothing was lost", false);
	free(text);
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	maker.job.store_full = true;
	maker.job.closed = true;
	text = told(&maker);
	expect(text, "the store is full", false);
	free(text);
}

static void test_calls_that_had_no_room_to_be_seen_are_missing(void **state)
{
	struct maker maker;
	Hk__Refusal without_thunk = HK__REFUSAL__INIT, denied = HK__REFUSAL__INIT;
	Hk__Refusal *refusals[] = {&without_thunk, &denied};
	(void)state;
	fill(&maker, (const unsigned[]){4, 4, 4, 4});
	without_thunk.reason = HK_REFUSED_THUNKS;
	without_thunk.slots = 723;
	denied.reason = HK_REFUSED_DENIED;
	denied.slots = 5;
	for (int rank = 1; rank < 3; rank++) {
		maker.processes[rank]->coverage.refusals = refusals;
		maker.processes[rank]->coverage.n_refusals = 2;
	}
	char *text = told(&maker);
	expect(text, "coverage warning: calls through 1446 slots are missing: there was no room",
	       true);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_late_rank_is_named_with_its_numbers),
	    cmocka_unit_test(test_a_rank_is_not_late_by_what_tracing_adds),
	    cmocka_unit_test(test_a_late_rank_is_named_where_ranks_mostly_stand_still),
	    cmocka_unit_test(test_the_function_that_makes_a_rank_late_is_named),
	    cmocka_unit_test(test_a_message_of_gloo_is_no_cause),
	    cmocka_unit_test(test_a_function_that_mpi_called_is_no_cause),
	    cmocka_unit_test(test_a_slow_processor_is_no_late_rank),
	    cmocka_unit_test(test_a_rank_with_as_much_work_is_not_late),
	    cmocka_unit_test(test_a_rank_with_more_work_is_late_though_its_usual_work_varies),
	    cmocka_unit_test(test_a_rank_without_a_processor_is_not_late),
	    cmocka_unit_test(test_a_rank_that_wakes_late_for_want_of_a_processor_is_not_late),
	    cmocka_unit_test(test_a_difference_that_was_seen_once_is_no_finding),
	    cmocka_unit_test(test_even_ranks_are_not_blamed),
	    cmocka_unit_test(test_a_rank_that_waits_is_uneven_and_not_late),
	    cmocka_unit_test(test_peaks_say_where_when_and_whose),
	    cmocka_unit_test(test_nothing_is_lost_only_if_all_nodes_are_here),
	    cmocka_unit_test(test_a_full_store_is_a_warning_while_the_job_runs),
	    cmocka_unit_test(test_loss_is_a_warning_and_then_nothing_says_otherwise),
	    cmocka_unit_test(test_calls_that_had_no_room_to_be_seen_are_missing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
