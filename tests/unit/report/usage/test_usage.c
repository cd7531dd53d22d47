/* What is said of the use that a job makes of its time: messages, files, workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/build/build.h"
#include "report/finding/finding.h"
#include "report/findings/findings.h"
#include "report/usage/message_findings.h"
#include "snapshot_maker.h"

#define SECOND 1000000000ull
#define START (5 * SECOND)

/* COUNT ranks of ten seconds. */
static void fill(struct maker *maker, int count)
{
	maker_init(maker);
	maker->job.world_size = count;
	maker->job.start_unix_ns = START;
	for (int rank = 0; rank < count; rank++) {
		maker_process(maker, rank, HK__ROLE__ROLE_MAIN, START, START + 10 * SECOND);
	}
}

/* RANK makes CALLS calls of FUNCTION, of BYTES each, that take MS milliseconds in all. */
static void call(struct maker *maker, int rank, const char *domain, const char *function,
		 uint64_t calls, uint64_t bytes, uint64_t ms)
{
	Hk__Cell *cell =
	    maker_cell(maker->processes[rank], domain, function, "/bin/solver", HK_LEVEL_RECORD);
	cell->calls = calls;
	cell->bytes = calls * bytes;
	cell->total_ns = cell->self_ns = cell->outermost_ns = ms * 1000000;
	cell->min_ns = cell->max_ns = cell->total_ns / calls;
}

/* What is said of KIND: confidence, ranks' cost in ms, function, text and evidence; "" without. */
static char *said(struct maker *maker, const char *kind)
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
		if (strcmp(finding->kind, kind) == 0) {
			fprintf(output, "%s %.0f ms %s: %s\n%s",
				hk_confidence_name(finding->confidence), finding->cost_ns / 1e6,
				finding->function ? finding->function : "-", finding->text,
				finding->evidence ? finding->evidence : "");
		}
	}
	hk_findings_fini(&findings);
	hk_report_free(report);
	maker_fini(maker);
	fclose(output);
	return text;
}

static void expect(struct maker *maker, const char *kind, const char *words)
{
	char *text = said(maker, kind);
	if (*words ? !strstr(text, words) : *text) {
		fail_msg("'%s' is not in:\n%s", words, text);
	}
	free(text);
}

static void test_small_messages_cost_their_waits(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 2);
	for (int rank = 0; rank < 2; rank++) {
		call(&maker, rank, "mpi", "MPI_Isend", 100000, 8, 100);
		call(&maker, rank, "mpi", "MPI_Irecv", 100000, 0, 50);
		call(&maker, rank, "mpi", "MPI_Waitall", 1000, 0, 3000);
	}
	expect(&maker, "small-messages",
	       "high 6300 ms MPI_Waitall: each rank passes 10000 messages of 8 B a second: 31.5 % "
	       "of the ranks' time, most in MPI_Waitall\nMPI_Waitall: 2000 calls, 6.00 s in all, "
	       "3.00 ms each\nMPI_Isend: 200000 calls");
}

static void test_a_message_has_two_sides_and_counts_once(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 2);
	/* 60,000 calls of each rank, and 40,000 messages. */
	for (int rank = 0; rank < 2; rank++) {
		call(&maker, rank, "mpi", "MPI_Send", 20000, 8, 1000);
		call(&maker, rank, "mpi", "MPI_Recv", 40000, 0, 1000);
	}
	expect(&maker, "small-messages", "");
	/* One rank only sends, the other one only receives. */
	fill(&maker, 2);
	call(&maker, 0, "mpi", "mpi_send_f08_", 60000, 8, 100);
	call(&maker, 1, "mpi", "mpi_recv_", 60000, 0, 5000);
	expect(&maker, "small-messages",
	       "high 5100 ms mpi_recv_: each rank passes 6000 messages of 8 B a second");
}

static void test_large_messages_are_not_small(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 2);
	for (int rank = 0; rank < 2; rank++) {
		call(&maker, rank, "mpi", "MPI_Isend", 100000, 65536, 100);
		call(&maker, rank, "mpi", "MPI_Irecv", 100000, 0, 50);
		call(&maker, rank, "mpi", "MPI_Waitall", 1000, 0, 3000);
	}
	expect(&maker, "small-messages", "");
}

static void test_waits_count_as_far_as_messages_are_small(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 2);
	for (int rank = 0; rank < 2; rank++) {
		call(&maker, rank, "mpi", "MPI_Send", 100000, 8, 1000);
		call(&maker, rank, "mpi", "MPI_Isend", 100000, 65536, 1000);
		call(&maker, rank, "mpi", "MPI_Recv", 200000, 0, 3000);
	}
	expect(&maker, "small-messages", "high 5000 ms MPI_Recv: each rank passes 10000 messages");
}

static void test_calls_for_messages_are_known_by_both_names(void **state)
{
	static const char *const yes[] = {"MPI_Recv", "mpi_waitall_", "mpi_sendrecv_replace_f08_",
					  "MPI_Iprobe"};
	static const char *const no[] = {"MPI_Allreduce",
					 "MPI_Send_init",
					 "send",
					 "recv",
					 "MPI_",
					 "mpi_",
					 "MPI_Recv_init_which_is_longer_than_any_name"};
	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		assert_true(hk_is_message_call(yes[i]));
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		assert_false(hk_is_message_call(no[i]));
	}
}

static void test_io_of_all_ranks_is_named_with_its_speed(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 4);
	for (int rank = 0; rank < 4; rank++) {
		call(&maker, rank, "io", "fsync", 1000, 0, 2500);
		call(&maker, rank, "io", "write", 1000, 1048576, 500);
		call(&maker, rank, "io", "recv", 1000, 1, 4000);
	}
	expect(&maker, "slow-io",
	       "medium 12000 ms fsync: the ranks are in I/O for 30 % of their time: 12.0 s, "
	       "333 MiB/s, most in fsync\nfsync: 4000 calls, 10.0 s in all, 2.50 ms each\n"
	       "write: 4000 calls, 2.00 s in all, 500 \302\265s each, 1.95 GiB/s\n");
}

static void test_io_of_one_rank_is_not_io_of_all(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 4);
	call(&maker, 2, "io", "read", 1000, 1, 8000);
	expect(&maker, "slow-io", "");
	/* A program that waits for its input once. */
	fill(&maker, 1);
	call(&maker, 0, "io", "read", 3, 1, 8000);
	expect(&maker, "slow-io", "");
}

/* A helper of RANK that lives from second FROM on until the end. */
static void helper(struct maker *maker, int rank, unsigned from)
{
	maker_process(maker, rank, HK__ROLE__ROLE_HELPER, START + from * SECOND,
		      START + 10 * SECOND);
}

static void test_a_program_that_waits_for_its_workers_is_named(void **state)
{
	struct maker maker;
	(void)state;
	fill(&maker, 1);
	helper(&maker, 0, 1);
	helper(&maker, 0, 1);
	call(&maker, 0, "wait", "poll", 300, 0, 6000);
	maker.processes[0]->message.cpu_ns = 3 * SECOND;
	expect(&maker, "slow-loader",
	       "medium 6000 ms poll: the program waits for its data loader, or other worker "
	       "processes: 6.00 s in poll, 60 % of its time\npoll: 300 calls of rank 0, 20.0 ms "
	       "each\n2 worker processes: ");
}

static void test_idle_waits_are_no_slow_workers(void **state)
{
	struct maker maker;
	(void)state;
	/* The rank computes all the time, beside a thread that waits. */
	fill(&maker, 1);
	helper(&maker, 0, 1);
	call(&maker, 0, "wait", "poll", 300, 0, 9000);
	maker.processes[0]->message.cpu_ns = 10 * SECOND;
	expect(&maker, "slow-loader", "");
	/* Nothing waits for it: there are no workers. */
	fill(&maker, 1);
	call(&maker, 0, "wait", "poll", 300, 0, 6000);
	expect(&maker, "slow-loader", "");
	/* It waits once, for a child that lives for a while. */
	fill(&maker, 1);
	helper(&maker, 0, 1);
	call(&maker, 0, "wait", "poll", 1, 0, 6000);
	expect(&maker, "slow-loader", "");
	/* A thread of MPI's runtime waits, as test_a_program_that_waits_for_its_workers_is_named.
	 */
	fill(&maker, 1);
	helper(&maker, 0, 1);
	helper(&maker, 0, 1);
	Hk__Cell *cell = maker_cell(maker.processes[0], "wait", "poll",
				    "/usr/lib/libevent_core-2.1.so.7", HK_LEVEL_RECORD);
	cell->calls = 300;
	cell->total_ns = cell->self_ns = cell->outermost_ns = 6 * SECOND;
	maker.processes[0]->message.cpu_ns = 3 * SECOND;
	expect(&maker, "slow-loader", "");
	/* The child lives for a short time. */
	fill(&maker, 1);
	helper(&maker, 0, 9);
	call(&maker, 0, "wait", "poll", 300, 0, 6000);
	expect(&maker, "slow-loader", "");
}

static void test_a_traced_loader_is_named_by_its_function(void **state)
{
	struct maker maker;
	const char *next = "_BaseDataLoaderIter.__next__ (torch/utils/data/dataloader.py:729)";
	(void)state;
	fill(&maker, 1);
	call(&maker, 0, "python", next, 300, 0, 6000);
	expect(&maker, "slow-loader",
	       "the program waits for its data loader: 6.00 s in _BaseDataLoaderIter.__next__");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_small_messages_cost_their_waits),
	    cmocka_unit_test(test_a_message_has_two_sides_and_counts_once),
	    cmocka_unit_test(test_large_messages_are_not_small),
	    cmocka_unit_test(test_waits_count_as_far_as_messages_are_small),
	    cmocka_unit_test(test_calls_for_messages_are_known_by_both_names),
	    cmocka_unit_test(test_io_of_all_ranks_is_named_with_its_speed),
	    cmocka_unit_test(test_io_of_one_rank_is_not_io_of_all),
	    cmocka_unit_test(test_a_program_that_waits_for_its_workers_is_named),
	    cmocka_unit_test(test_idle_waits_are_no_slow_workers),
	    cmocka_unit_test(test_a_traced_loader_is_named_by_its_function),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
