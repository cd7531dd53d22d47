/* What is said of processes whose node is not heard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "report/build/build.h"
#include "report/model/report.h"
#include "snapshot_maker.h"

/* Rank 0 at the root, 1 and 2 on a node that reports, 3 and 4 on one that is silent; the odd ones
 * have ended. */
struct world {
	struct maker maker;
	Hk__Node nodes[2], *list[2];
};

static uint8_t ids[2][16] = {"a node", "another"};

static void world_init(struct world *world)
{
	maker_init(&world->maker);
	for (size_t i = 0; i < 2; i++) {
		hk__node__init(&world->nodes[i]);
		world->nodes[i].id = (ProtobufCBinaryData){sizeof(ids[i]), ids[i]};
		world->nodes[i].opened_unix_ns = 1;
		world->nodes[i].connected = i == 0;
		world->list[i] = &world->nodes[i];
	}
	world->maker.job.nodes = world->list;
	world->maker.job.n_nodes = 2;
	for (int rank = 0; rank < 5; rank++) {
		struct maker_process *process =
		    maker_process(&world->maker, rank, HK__ROLE__ROLE_MAIN, 1000, 2000);
		if (rank > 0) {
			process->message.node = world->nodes[(rank - 1) / 2].id;
		}
		if (rank % 2 == 0) {
			process->message.end = NULL;
			process->message.seen = &process->end;
			process->message.exit_kind = HK__EXIT_KIND__EXIT_RUNNING;
		}
	}
}

static struct hk_report *report_of(struct world *world)
{
	struct hk_report *report;
	assert_int_equal(hk_report_new(maker_snapshot(&world->maker), &report), 0);
	return report;
}

static void expect_kinds(const struct hk_report *report, const char *const kinds[5])
{
	assert_int_equal(report->rank_count, 5);
	for (size_t rank = 0; rank < 5; rank++) {
		assert_string_equal(report->ranks[rank].exit.kind, kinds[rank]);
	}
}

static void test_silent_nodes_processes_are_silent(void **state)
{
	static const char *const kinds[] = {"running", "exited", "running", "exited", "silent"};
	struct world world;
	(void)state;
	world_init(&world);
	struct hk_report *report = report_of(&world);
	expect_kinds(report, kinds);
	assert_int_equal(report->node_count, 2);
	assert_int_equal(report->nodes[0].live, 1);
	assert_int_equal(report->nodes[1].live, 0);
	hk_report_free(report);
	maker_fini(&world.maker);
}

static void test_others_run(void **state)
{
	static const char *const kinds[] = {"running", "exited", "running", "exited", "running"};
	struct world world;
	(void)state;
	world_init(&world);
	/* It only shares a file system: no root ever hears from it. */
	world.nodes[1].opened_unix_ns = 0;
	struct hk_report *report = report_of(&world);
	expect_kinds(report, kinds);
	hk_report_free(report);
	world.nodes[1].opened_unix_ns = 1;
	world.nodes[1].connected = true;
	report = report_of(&world);
	expect_kinds(report, kinds);
	hk_report_free(report);
	maker_fini(&world.maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_silent_nodes_processes_are_silent),
	    cmocka_unit_test(test_others_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
