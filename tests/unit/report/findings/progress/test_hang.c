/* Ranks that hang, and ranks that died. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/build/build.h"
#include "report/findings/findings.h"
#include "report/findings/progress/hang.h"
#include "report/findings/progress/hang_notes.h"
#include "snapshot_maker.h"

#define SECOND 1000000000ull
#define START (5 * SECOND)
#define NOW (35 * SECOND)

/* A running job of COUNT ranks. */
static void fill(struct maker *maker, int count)
{
	maker_init(maker);
	maker->job.world_size = count;
	maker->job.start_unix_ns = START;
	maker->job.exit = (char *)"running";
	for (int rank = 0; rank < count; rank++) {
		struct maker_process *process =
		    maker_process(maker, rank, HK__ROLE__ROLE_MAIN, START, NOW);
		process->message.exit_kind = HK__EXIT_KIND__EXIT_RUNNING;
		process->message.seen = &process->end;
		process->message.end = NULL;
	}
}

/* RANK has been inside of FUNCTION for SECONDS, its CALLS th call of it. */
static void enter(struct maker *maker, int rank, const char *domain, const char *function,
		  uint64_t calls, unsigned seconds)
{
	struct maker_process *process = maker->processes[rank];
	Hk__Cell *cell = maker_cell(process, domain, function, "/bin/solver", HK_LEVEL_RECORD);
	uint32_t depth = (uint32_t)process->message.n_open_calls + 1;
	cell->calls = calls;
	process->sites[cell->site].meaning =
	    strstr(function, "Recv") ? HK_MEANING_RECV : HK_MEANING_COLLECTIVE;
	maker_open(process, cell->site, depth, NOW - seconds * SECOND)->tid = process->message.pid;
}

static void end(struct maker *maker, int rank, Hk__ExitKind kind, int code, unsigned seconds)
{
	struct maker_process *process = maker->processes[rank];
	process->end.ticks = process->end.monotonic_ns = process->end.realtime_ns =
	    START + seconds * SECOND;
	process->message.end = &process->end;
	process->message.exit_kind = kind;
	process->message.exit_code = code;
}

/* The first finding about progress: confidence, kind, ranks, text and evidence; "" without one. */
static char *said(struct maker *maker)
{
	struct hk_findings findings;
	struct hk_report *report;
	char *text = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&text, &size);

	assert_int_equal(hk_report_new(maker_snapshot(maker), &report), 0);
	assert_int_equal(hk_findings_init(&findings, report), 0);
	for (size_t i = 0; i < findings.count; i++) {
		const struct hk_finding *finding = &findings.list[i];
		if (finding->topic == HK_TOPIC_PROGRESS) {
			assert_int_equal(i, 0);
			fprintf(output, "%s %s [", hk_confidence_name(finding->confidence),
				finding->kind);
			for (size_t k = 0; k < finding->rank_count; k++) {
				fprintf(output, " %d", finding->ranks[k]);
			}
			fprintf(output, " ] %s\n%s", finding->text, finding->evidence);
			break;
		}
	}
	hk_findings_fini(&findings);
	hk_report_free(report);
	maker_fini(maker);
	fclose(output);
	return text;
}

static void expect(struct maker *maker, const char *words)
{
	char *text = said(maker);
	if (*words ? !strstr(text, words) : *text) {
		fail_msg("'%s' is not in:\n%s", words, text);
	}
	free(text);
}

static void test_a_rank_that_has_not_entered_is_named_with_its_call(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 4);
	for (int rank = 0; rank < 4; rank++) {
		if (rank != 2) {
			enter(&maker, rank, "mpi", "MPI_Allreduce", 1204, 14);
		}
	}
	maker_cell(maker.processes[2], "mpi", "MPI_Allreduce", "/bin/solver", HK_LEVEL_RECORD)
	    ->calls = 1203;
	enter(&maker, 2, "io", "read", 7, 15);
	expect(&maker,
	       "high hang [ 2 ] the job is stuck for 14.0 s: ranks 0,1,3 wait in MPI_Allreduce, "
	       "rank 2 has not entered it\nrank 2 is in read, called by solver, for 15.0 s; it "
	       "made 1203 calls of MPI_Allreduce, others 1204\n");
}

static void test_a_rank_without_an_open_call_is_named(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 2);
	enter(&maker, 1, "mpi", "MPI_Recv", 3, 11);
	expect(&maker, "medium hang [ 0 ] the job is stuck for 11.0 s: rank 1 waits in MPI_Recv, "
		       "rank 0 has not entered it\nrank 0 is in no hooked function");
}

static void test_a_short_wait_is_no_hang(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 4);
	enter(&maker, 0, "mpi", "MPI_Allreduce", 5, 9);
	enter(&maker, 1, "mpi", "MPI_Allreduce", 5, 9);
	enter(&maker, 2, "mpi", "MPI_Allreduce", 5, 9);
	expect(&maker, "");
}

static void test_a_rank_that_leaves_is_named_and_not_those_that_fail(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 4);
	end(&maker, 3, HK__EXIT_KIND__EXIT_EXITED, 0, 12);
	for (int rank = 0; rank < 3; rank++) {
		end(&maker, rank, HK__EXIT_KIND__EXIT_EXITED, 1, 13);
	}
	expect(&maker,
	       "medium early-exit [ 3 ] rank 3 ended (status 0) at 12.0 s; ranks 0-2 failed "
	       "without it, from 1.00 s later on\nrank 0 was the first to fail, with status 1");
	/* Most were done, and one failed. */
	fill(&maker, 4);
	for (int rank = 0; rank < 3; rank++) {
		end(&maker, rank, HK__EXIT_KIND__EXIT_EXITED, 0, 12);
	}
	end(&maker, 3, HK__EXIT_KIND__EXIT_EXITED, 1, 13);
	expect(&maker, "high death [ 3 ] rank 3 ended with status 1 at 13.0 s");
	/* It left after the first one had failed. */
	fill(&maker, 3);
	end(&maker, 0, HK__EXIT_KIND__EXIT_EXITED, 1, 12);
	end(&maker, 1, HK__EXIT_KIND__EXIT_EXITED, 1, 14);
	end(&maker, 2, HK__EXIT_KIND__EXIT_EXITED, 0, 13);
	expect(&maker, "death [ 0 ]");
}

/* The first fact of kind HK_NO_PROGRESS, or "". */
static char *stopped(struct maker *maker)
{
	struct hk_findings findings;
	struct hk_report *report;
	char *text = strdup("");

	assert_int_equal(hk_report_new(maker_snapshot(maker), &report), 0);
	assert_int_equal(hk_findings_init(&findings, report), 0);
	for (size_t i = 0; i < findings.count; i++) {
		if (strcmp(findings.list[i].kind, HK_NO_PROGRESS) == 0) {
			assert_int_equal(findings.list[i].weight, HK_WEIGHT_FACT);
			free(text);
			text = strdup(findings.list[i].text);
		}
	}
	hk_findings_fini(&findings);
	hk_report_free(report);
	maker_fini(maker);
	return text;
}

static void test_a_wait_that_may_become_a_hang_is_a_fact(void **state)
{
	(void)state;
	for (unsigned seconds = 1; seconds < 12; seconds += 5) {
		struct maker maker;
		fill(&maker, 4);
		for (int rank = 0; rank < 3; rank++) {
			enter(&maker, rank, "mpi", "MPI_Allreduce", 5, seconds);
		}
		char *text = stopped(&maker);
		assert_string_equal(text, seconds == 6
					      ? "3 ranks have made no progress for 6.00 s; "
						"a hang is named after 10 s"
					      : "");
		free(text);
	}
}

/* The notes of a hang of rank 2. */
static void note(struct maker *maker)
{
	static Hk__Note sentence = HK__NOTE__INIT, stack = HK__NOTE__INIT;
	static Hk__Note *notes[] = {&sentence, &stack};

	sentence.kind = (char *)HK_HANG_NOTE;
	sentence.text = (char *)"the job is stuck for 14.0 s: ranks 0,1 wait in MPI_Bcast";
	stack.kind = (char *)HK_HANG_STACK_NOTE;
	stack.text = (char *)"read <- load (data.c:8) <- main";
	sentence.rank = stack.rank = 2;
	maker->snapshot.notes = notes;
	maker->snapshot.n_notes = 2;
}

/* The stack of the first finding of kind "hang". */
static char *stack_of_hang(struct maker *maker, const char *text)
{
	struct hk_findings findings;
	struct hk_report *report;
	char *stack = NULL;

	assert_int_equal(hk_report_new(maker_snapshot(maker), &report), 0);
	assert_int_equal(hk_findings_init(&findings, report), 0);
	for (size_t i = 0; i < findings.count; i++) {
		const struct hk_finding *finding = &findings.list[i];
		if (strcmp(finding->kind, "hang") == 0) {
			assert_non_null(strstr(finding->text, text));
			stack = strdup(finding->stack ? finding->stack : "");
		}
		/* The notes themselves are no sentences. */
		assert_null(strstr(finding->text, "read <- load"));
	}
	hk_findings_fini(&findings);
	hk_report_free(report);
	maker_fini(maker);
	return stack ? stack : strdup("no hang");
}

static void test_a_hang_keeps_the_stack_that_was_seen(void **state)
{
	struct maker maker;
	(void)state;
	/* The job was ended while it hung. */
	fill(&maker, 3);
	maker.job.closed = true;
	note(&maker);
	enter(&maker, 0, "mpi", "MPI_Bcast", 4, 15);
	enter(&maker, 1, "mpi", "MPI_Bcast", 4, 15);
	char *stack = stack_of_hang(&maker, "the job was stuck for 15.0 s when it ended");
	assert_string_equal(stack, "read\nload (data.c:8)\nmain\n");
	free(stack);
	/* Now another rank is awaited: the stack is not that one's. */
	fill(&maker, 3);
	note(&maker);
	enter(&maker, 2, "mpi", "MPI_Bcast", 4, 15);
	enter(&maker, 1, "mpi", "MPI_Bcast", 4, 15);
	stack = stack_of_hang(&maker, "rank 0 has not entered it");
	assert_string_equal(stack, "");
	free(stack);
	/* The hang has passed. */
	fill(&maker, 3);
	note(&maker);
	stack = stack_of_hang(&maker, "the job was stuck for 14.0 s: ranks 0,1 wait in MPI_Bcast; "
				      "it went on later");
	assert_string_equal(stack, "read\nload (data.c:8)\nmain\n");
	free(stack);
}

static void test_ranks_that_still_exchange_messages_are_no_hang(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 4);
	enter(&maker, 0, "mpi", "MPI_Recv", 5, 20);
	enter(&maker, 1, "mpi", "MPI_Recv", 5, 20);
	enter(&maker, 2, "mpi", "MPI_Recv", 500, 0);
	enter(&maker, 3, "mpi", "MPI_Send", 500, 0);
	expect(&maker, "");
}

static void test_a_rank_that_polls_alone_is_awaited(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 3);
	enter(&maker, 0, "mpi", "MPI_Allreduce", 5, 20);
	enter(&maker, 1, "mpi", "MPI_Iprobe", 500000, 0);
	enter(&maker, 2, "mpi", "MPI_Allreduce", 5, 20);
	expect(&maker, "hang [ 1 ] the job is stuck for 20.0 s: ranks 0,2 wait in MPI_Allreduce, "
		       "rank 1 has not entered it\n");
}

static void test_a_rank_that_entered_the_call_later_is_not_awaited(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 4);
	enter(&maker, 0, "mpi", "MPI_Allreduce", 5, 12);
	enter(&maker, 1, "mpi", "MPI_Allreduce", 5, 12);
	enter(&maker, 3, "mpi", "MPI_Allreduce", 5, 9);
	expect(&maker, "medium hang [ 2 ] the job is stuck for 12.0 s: ranks 0,1,3 wait in "
		       "MPI_Allreduce, rank 2 has not entered it\n");
}

static void test_a_call_that_the_last_rank_has_just_entered_is_no_hang(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 3);
	enter(&maker, 0, "mpi", "MPI_Allreduce", 5, 12);
	enter(&maker, 1, "mpi", "MPI_Allreduce", 5, 12);
	enter(&maker, 2, "mpi", "MPI_Allreduce", 5, 0);
	expect(&maker, "");
}

static void test_a_single_waiting_rank_among_working_ones_is_no_hang(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 4);
	enter(&maker, 3, "mpi", "MPI_Recv", 5, 20);
	expect(&maker, "");
}

static void test_a_rank_in_another_collective_is_named(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 3);
	enter(&maker, 0, "mpi", "MPI_Allreduce", 8, 12);
	enter(&maker, 1, "mpi", "MPI_Bcast", 1, 12);
	enter(&maker, 2, "mpi", "MPI_Allreduce", 8, 12);
	expect(&maker, "high hang [ 1 ] the job is stuck for 12.0 s: ranks 0,2 wait in "
		       "MPI_Allreduce, rank 1 waits in another one\nrank 1 is in MPI_Bcast, ");
}

/* Rank 1 calls a barrier instead of a broadcast, of which rank 0 is the root. Rank 3 waits in the
 * broadcast for it: others have left that. */
static void test_a_rank_that_waits_for_the_one_apart_is_not_named(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 4);
	for (int rank = 0; rank < 3; rank++) {
		maker_cell(maker.processes[rank], "mpi", "MPI_Bcast", "/bin/solver",
			   HK_LEVEL_RECORD)
		    ->calls = rank == 1 ? 150 : 151;
	}
	for (int rank = 0; rank < 4; rank++) {
		if (rank != 1) {
			maker_cell(maker.processes[rank], "mpi", "MPI_Barrier", "/bin/solver",
				   HK_LEVEL_RECORD)
			    ->calls = 7;
		}
	}
	enter(&maker, 0, "mpi", "MPI_Allreduce", 151, 14);
	enter(&maker, 2, "mpi", "MPI_Allreduce", 151, 14);
	enter(&maker, 1, "mpi", "MPI_Barrier", 8, 14);
	enter(&maker, 3, "mpi", "MPI_Bcast", 151, 14);
	expect(&maker, "high hang [ 1 ] the job is stuck for 14.0 s: ranks 0,2 wait in "
		       "MPI_Allreduce, rank 1 waits in another one\nrank 1 is in MPI_Barrier, ");
}

static void test_a_rank_that_left_out_a_call_is_named(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 3);
	enter(&maker, 0, "mpi", "MPI_Allreduce", 8, 12);
	enter(&maker, 1, "mpi", "MPI_Allreduce", 7, 12);
	enter(&maker, 2, "mpi", "MPI_Allreduce", 8, 12);
	expect(&maker, "high hang [ 1 ] the job is stuck for 12.0 s: ranks 0,2 wait in "
		       "MPI_Allreduce, rank 1 made fewer calls of it\n");
}

static void test_without_a_difference_no_rank_is_named(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 2);
	enter(&maker, 0, "nccl", "ncclAllReduce", 8, 12);
	enter(&maker, 1, "nccl", "ncclAllReduce", 8, 12);
	expect(&maker, "medium hang [ ] the job is stuck for 12.0 s: ranks 0,1 wait in "
		       "ncclAllReduce, no rank does anything else\n");
}

static void test_a_rank_that_ended_is_awaited(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 3);
	enter(&maker, 0, "mpi", "MPI_Barrier", 8, 12);
	enter(&maker, 2, "mpi", "MPI_Barrier", 8, 12);
	end(&maker, 1, HK__EXIT_KIND__EXIT_EXITED, 0, 3);
	expect(&maker, "high hang [ 1 ] the job is stuck for 12.0 s: ranks 0,2 wait in "
		       "MPI_Barrier, rank 1 has not entered it\nrank 1 ended at 3.00 s (exited)");
}

static void test_a_crash_is_named_before_those_that_were_ended_for_it(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 3);
	enter(&maker, 1, "blas", "dgemm_", 8, 4);
	end(&maker, 0, HK__EXIT_KIND__EXIT_SIGNAL, SIGTERM, 10);
	end(&maker, 1, HK__EXIT_KIND__EXIT_SIGNAL, SIGSEGV, 10);
	end(&maker, 2, HK__EXIT_KIND__EXIT_SIGNAL, SIGTERM, 10);
	expect(&maker, "high death [ 1 ] rank 1 was killed by signal 11 (Segmentation fault) at "
		       "10.0 s, before 2 others\nit was in dgemm_, called by solver, for ");
}

static void test_the_one_rank_that_was_killed_is_named(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 3);
	end(&maker, 0, HK__EXIT_KIND__EXIT_EXITED, 1, 10);
	end(&maker, 1, HK__EXIT_KIND__EXIT_EXITED, 1, 10);
	end(&maker, 2, HK__EXIT_KIND__EXIT_SIGNAL, SIGKILL, 10);
	expect(&maker, "high death [ 2 ] rank 2 was killed by signal 9 (Killed) at 10.0 s, before "
		       "2 others\n");
}

static void test_ranks_that_were_all_ended_have_no_culprit(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 3);
	for (int rank = 0; rank < 3; rank++) {
		end(&maker, rank, HK__EXIT_KIND__EXIT_SIGNAL, SIGKILL, 10);
	}
	expect(&maker, "");
}

static void test_a_signal_of_schedulers_and_launchers_is_no_crash(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 2);
	enter(&maker, 0, "mpi", "MPI_Allreduce", 8, 1);
	end(&maker, 0, HK__EXIT_KIND__EXIT_SIGNAL, SIGTERM, 30);
	end(&maker, 1, HK__EXIT_KIND__EXIT_SIGNAL, SIGTERM, 30);
	expect(&maker, "");
	fill(&maker, 3);
	end(&maker, 0, HK__EXIT_KIND__EXIT_EXITED, 195, 30);
	end(&maker, 1, HK__EXIT_KIND__EXIT_SIGNAL, SIGPIPE, 30);
	end(&maker, 2, HK__EXIT_KIND__EXIT_EXITED, 195, 30);
	expect(&maker, "");
}

static void test_a_rank_that_vanished_from_waiting_ones_is_named(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 3);
	enter(&maker, 0, "mpi", "MPI_Allreduce", 8, 1);
	enter(&maker, 1, "mpi", "MPI_Allreduce", 8, 1);
	for (int rank = 0; rank < 3; rank++) {
		end(&maker, rank, HK__EXIT_KIND__EXIT_VANISHED, 0, 30);
	}
	expect(&maker, "medium death [ 2 ] rank 2 ended without notice (killed or crashed) at "
		       "30.0 s, before 2 others\nit was in no hooked function\n");
}

static void test_an_end_that_a_program_chose_is_no_death(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 2);
	end(&maker, 0, HK__EXIT_KIND__EXIT_EXITED, 0, 10);
	end(&maker, 1, HK__EXIT_KIND__EXIT_EXITED, 0, 10);
	expect(&maker, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_rank_that_has_not_entered_is_named_with_its_call),
	    cmocka_unit_test(test_a_rank_without_an_open_call_is_named),
	    cmocka_unit_test(test_a_short_wait_is_no_hang),
	    cmocka_unit_test(test_a_wait_that_may_become_a_hang_is_a_fact),
	    cmocka_unit_test(test_a_rank_that_leaves_is_named_and_not_those_that_fail),
	    cmocka_unit_test(test_a_hang_keeps_the_stack_that_was_seen),
	    cmocka_unit_test(test_ranks_that_still_exchange_messages_are_no_hang),
	    cmocka_unit_test(test_a_rank_that_polls_alone_is_awaited),
	    cmocka_unit_test(test_a_rank_that_entered_the_call_later_is_not_awaited),
	    cmocka_unit_test(test_a_call_that_the_last_rank_has_just_entered_is_no_hang),
	    cmocka_unit_test(test_a_single_waiting_rank_among_working_ones_is_no_hang),
	    cmocka_unit_test(test_a_rank_in_another_collective_is_named),
	    cmocka_unit_test(test_a_rank_that_waits_for_the_one_apart_is_not_named),
	    cmocka_unit_test(test_a_rank_that_left_out_a_call_is_named),
	    cmocka_unit_test(test_without_a_difference_no_rank_is_named),
	    cmocka_unit_test(test_a_rank_that_ended_is_awaited),
	    cmocka_unit_test(test_a_crash_is_named_before_those_that_were_ended_for_it),
	    cmocka_unit_test(test_the_one_rank_that_was_killed_is_named),
	    cmocka_unit_test(test_ranks_that_were_all_ended_have_no_culprit),
	    cmocka_unit_test(test_a_signal_of_schedulers_and_launchers_is_no_crash),
	    cmocka_unit_test(test_a_rank_that_vanished_from_waiting_ones_is_named),
	    cmocka_unit_test(test_an_end_that_a_program_chose_is_no_death),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
