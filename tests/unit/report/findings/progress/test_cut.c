/* Hosts that are cut off from the others, by the connections of their ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/build/build.h"
#include "report/findings/findings.h"
#include "snapshot_maker.h"

#define SECOND 1000000000ull
#define START (5 * SECOND)
#define NOW (35 * SECOND)
#define RANKS 4
#define STALLED 2

/* A running job of RANKS ranks, each of which has an address of its own, is quiet for 20 s and has
 * COUNT stalled connections. */
struct job {
	struct maker maker;
	Hk__StalledConnection stalled[RANKS][STALLED];
	Hk__StalledConnection *list[RANKS][STALLED];
	char *addresses[RANKS];
};

static char *const hosts[] = {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"};

static void fill(struct job *job)
{
	maker_init(&job->maker);
	job->maker.job.world_size = RANKS;
	job->maker.job.start_unix_ns = START;
	job->maker.job.exit = (char *)"running";
	for (int rank = 0; rank < RANKS; rank++) {
		struct maker_process *process =
		    maker_process(&job->maker, rank, HK__ROLE__ROLE_MAIN, START, NOW);
		process->message.exit_kind = HK__EXIT_KIND__EXIT_RUNNING;
		process->message.seen = &process->end;
		process->message.end = NULL;
		process->message.quiet_ticks = NOW - 20 * SECOND;
		process->message.stalled = job->list[rank];
		process->message.n_stalled = 0;
		job->addresses[rank] = hosts[rank];
		process->message.addresses = &job->addresses[rank];
		process->message.n_addresses = 1;
	}
}

/* RANK sent data to PEER without an answer. */
static void stall(struct job *job, int rank, const char *peer)
{
	Hk__Process *process = &job->maker.processes[rank]->message;
	Hk__StalledConnection *stalled = &job->stalled[rank][process->n_stalled];

	hk__stalled_connection__init(stalled);
	stalled->local = hosts[rank];
	stalled->peer = (char *)peer;
	stalled->unanswered = 96;
	stalled->retries = 7;
	job->list[rank][process->n_stalled++] = stalled;
}

/* Fails unless the first finding has WORDS: its confidence, kind, ranks, text and evidence. Without
 * WORDS nothing may be said of connections. */
static void expect(struct job *job, const char *words)
{
	struct hk_findings findings;
	struct hk_report *report;
	char text[1024] = "";
	int used = 0;

	assert_int_equal(hk_report_new(maker_snapshot(&job->maker), &report), 0);
	assert_int_equal(hk_findings_init(&findings, report), 0);
	for (size_t i = 0; i < findings.count; i++) {
		const struct hk_finding *finding = &findings.list[i];
		if (!strstr(finding->text, "nothing gets through")) {
			continue;
		}
		assert_int_equal(used, 0);
		used = snprintf(text, sizeof(text), "%s %s [",
				hk_confidence_name(finding->confidence), finding->kind);
		for (size_t k = 0; k < finding->rank_count; k++) {
			used += snprintf(text + used, sizeof(text) - (size_t)used, " %d",
					 finding->ranks[k]);
		}
		snprintf(text + used, sizeof(text) - (size_t)used, " ] %s\n%s", finding->text,
			 finding->evidence);
	}
	hk_findings_fini(&findings);
	hk_report_free(report);
	maker_fini(&job->maker);
	if (words ? !strstr(text, words) : *text) {
		fail_msg("'%s' is not in:\n%s", words ? words : "", text);
	}
}

static void test_the_host_that_all_connections_end_at_is_named(void **state)
{
	struct job job;
	(void)state;
	fill(&job);
	stall(&job, 1, hosts[2]);
	stall(&job, 2, hosts[3]);
	expect(&job, "high hang [ 2 ] nothing gets through between rank 2 on ");
	fill(&job);
	stall(&job, 1, hosts[2]);
	stall(&job, 2, hosts[3]);
	expect(&job, "(10.0.0.3) and ranks 1,3; almost no call has returned for 20.0 s\n"
		     "rank 1 sent 96 B to 10.0.0.3, 7 times again, without an answer\n"
		     "rank 2 sent 96 B to 10.0.0.4, 7 times again, without an answer\n");
}

static void test_of_two_ends_neither_is_named(void **state)
{
	struct job job;
	(void)state;
	fill(&job);
	stall(&job, 1, hosts[2]);
	stall(&job, 2, hosts[1]);
	expect(&job, "medium hang [ ] nothing gets through between rank 1 on ");
}

static void test_no_end_is_named_if_none_has_all_connections(void **state)
{
	struct job job;
	(void)state;
	fill(&job);
	stall(&job, 0, hosts[2]);
	stall(&job, 1, hosts[3]);
	expect(&job, "medium hang [ ] nothing gets through between ranks 0-3; almost");
}

static void test_other_hosts_are_a_guess_and_do_not_count_beside_ranks(void **state)
{
	struct job job;
	(void)state;
	fill(&job);
	stall(&job, 1, "192.0.2.1");
	stall(&job, 1, "192.0.2.2");
	expect(&job, "low stalled-connection [ ] nothing gets through between rank 1 on ");
	fill(&job);
	stall(&job, 1, "192.0.2.1");
	stall(&job, 1, hosts[2]);
	stall(&job, 2, hosts[3]);
	expect(&job, "high hang [ 2 ] ");
}

static void test_one_connection_must_have_had_no_answer_for_long(void **state)
{
	struct job job;
	(void)state;
	fill(&job);
	stall(&job, 1, hosts[2]);
	stall(&job, 2, hosts[3]);
	job.stalled[1][0].retries = 2;
	expect(&job, "high hang [ 2 ]");
	fill(&job);
	stall(&job, 1, hosts[2]);
	stall(&job, 2, hosts[3]);
	job.stalled[1][0].retries = job.stalled[2][0].retries = 3;
	expect(&job, NULL);
}

static void test_a_rank_that_makes_calls_is_not_stuck(void **state)
{
	struct job job;
	(void)state;
	fill(&job);
	stall(&job, 1, hosts[2]);
	job.maker.processes[1]->message.quiet_ticks = NOW - SECOND;
	expect(&job, NULL);
}

static void test_it_is_no_hang_while_another_rank_makes_calls(void **state)
{
	struct job job;
	(void)state;
	fill(&job);
	stall(&job, 1, hosts[2]);
	stall(&job, 2, hosts[3]);
	job.maker.processes[0]->message.quiet_ticks = NOW - SECOND;
	expect(&job, "low stalled-connection [ ] nothing gets through between rank 2 on ");
}

/* Ranks 0 to 3 are a hub and its workers, of which two of many are cut off. */
static void test_an_end_with_few_of_the_others_is_less_sure(void **state)
{
	struct job job;
	(void)state;
	fill(&job);
	char *many[] = {hosts[0], (char *)"10.0.0.9", (char *)"10.0.0.10", (char *)"10.0.0.11"};
	stall(&job, 1, hosts[0]);
	stall(&job, 2, hosts[0]);
	job.maker.processes[0]->message.addresses = many;
	job.maker.processes[0]->message.n_addresses = 4;
	expect(&job, "medium hang [ 0 ] ");
}

static void test_an_address_of_several_hosts_says_nothing(void **state)
{
	struct job job;
	(void)state;
	fill(&job);
	stall(&job, 1, hosts[2]);
	stall(&job, 2, hosts[3]);
	job.addresses[0] = hosts[2];
	job.maker.processes[0]->message.host = (char *)"elsewhere";
	expect(&job, "low stalled-connection [ ] ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_host_that_all_connections_end_at_is_named),
	    cmocka_unit_test(test_of_two_ends_neither_is_named),
	    cmocka_unit_test(test_no_end_is_named_if_none_has_all_connections),
	    cmocka_unit_test(test_other_hosts_are_a_guess_and_do_not_count_beside_ranks),
	    cmocka_unit_test(test_one_connection_must_have_had_no_answer_for_long),
	    cmocka_unit_test(test_it_is_no_hang_while_another_rank_makes_calls),
	    cmocka_unit_test(test_an_end_with_few_of_the_others_is_less_sure),
	    cmocka_unit_test(test_an_address_of_several_hosts_says_nothing),
	    cmocka_unit_test(test_a_rank_that_makes_calls_is_not_stuck),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
