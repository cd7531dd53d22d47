/* Node directories are one job: all their processes, and what is wrong with one costs only that
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/nodes.h"
#include "wire/statistics.h"

struct place {
	char dir[32];
};

static void path_of(const struct place *place, const char *node, const char *file, char path[128])
{
	snprintf(path, 128, "%s/%s/%s", place->dir, node, file);
}

static int place_make(void **state)
{
	struct place *place = malloc(sizeof(*place));
	memcpy(place->dir, "/tmp/hk-nodes-XXXXXX", 21);
	assert_non_null(mkdtemp(place->dir));
	*state = place;
	return 0;
}

static int place_remove(void **state)
{
	struct place *place = *state;
	static const char *const nodes[] = {"a", "b", "b-2", "c"};
	for (size_t i = 0; i < 4; i++) {
		char path[128];
		path_of(place, nodes[i], HK_STATISTICS_FILE, path);
		unlink(path);
		path_of(place, nodes[i], "job.json", path);
		unlink(path);
		path_of(place, nodes[i], HK_NODES_MARK, path);
		unlink(path);
		path_of(place, nodes[i], "", path);
		rmdir(path);
	}
	assert_int_equal(rmdir(place->dir), 0);
	free(place);
	return 0;
}

static void touch(const struct place *place, const char *node, const char *file)
{
	char path[128];
	path_of(place, node, file, path);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void make_node(const struct place *place, const char *node)
{
	char path[128];
	path_of(place, node, "", path);
	assert_int_equal(mkdir(path, 0755), 0);
	touch(place, node, HK_NODES_MARK);
}

/* A node with one main process of RANK, its job from START on for 100 ns. */
static void put_node(const struct place *place, const char *node, int rank, uint64_t start,
		     const Hk__Job *job_as)
{
	struct hk_statistics *statistics;
	char path[128];
	uint8_t uid[16] = {(uint8_t)rank, 1};
	Hk__Process process = HK__PROCESS__INIT;
	Hk__Job job = *job_as;
	make_node(place, node);
	path_of(place, node, "", path);
	assert_int_equal(hk_statistics_open(path, &statistics), 0);
	process.uid = (ProtobufCBinaryData){.len = sizeof(uid), .data = uid};
	process.rank = rank;
	process.role = HK__ROLE__ROLE_MAIN;
	process.host = (char *)"host";
	job.id = (char *)"job";
	job.command = (char *)(rank == 0 ? "first" : "other");
	job.start_unix_ns = start;
	job.duration_ns = 100;
	job.stored_bytes = 10;
	job.world_size = 4;
	assert_int_equal(hk_statistics_put_process(statistics, &process), 0);
	assert_int_equal(hk_statistics_put_job(statistics, &job), 0);
	hk_statistics_free(statistics);
}

static void make_silent(const struct place *place, const char *node)
{
	char path[128];
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	path_of(place, node, HK_STATISTICS_FILE, path);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static Hk__Snapshot *load(const struct place *place, struct hk_nodes *nodes)
{
	Hk__Snapshot *snapshot;
	assert_int_equal(hk_nodes_find(place->dir, nodes), 0);
	assert_int_equal(hk_nodes_load(place->dir, nodes, &snapshot), 0);
	return snapshot;
}

static Hk__Job ended(char *exit, int status)
{
	Hk__Job job = HK__JOB__INIT;
	job.closed = true;
	job.exit = exit;
	job.have_exit = status >= 0;
	job.exit_status = status >= 0 ? status : 0;
	return job;
}

static void test_nodes_are_one_job(void **state)
{
	const struct place *place = *state;
	const Hk__Job fine = ended("exit 0", 0), bad = ended("signal 9", 137);
	struct hk_nodes nodes;
	put_node(place, "b", 2, 1000, &bad);
	put_node(place, "b-2", 0, 1050, &fine);
	put_node(place, "a", 1, 1020, &fine);
	Hk__Snapshot *snapshot = load(place, &nodes);
	assert_int_equal(nodes.count, 3);
	assert_string_equal(nodes.parts[0].name, "a");
	assert_int_equal(snapshot->n_processes, 3);
	assert_int_equal(snapshot->job->n_nodes, 3);
	assert_string_equal(snapshot->job->command, "first");
	assert_string_equal(snapshot->job->exit, "signal 9");
	assert_int_equal(snapshot->job->exit_status, 137);
	assert_int_equal(snapshot->job->start_unix_ns, 1000);
	assert_int_equal(snapshot->job->duration_ns, 150);
	assert_int_equal(snapshot->job->stored_bytes, 30);
	assert_int_equal(snapshot->job->world_size, 4);
	assert_true(snapshot->job->closed);
	for (size_t i = 0; i < 3; i++) {
		const Hk__Process *process = snapshot->processes[i];
		static const char *const directories[] = {"b-2", "a", "b"};
		assert_string_equal(hk_nodes_directory(snapshot->job, process),
				    directories[process->rank]);
	}
	hk__snapshot__free_unpacked(snapshot, NULL);
	hk_nodes_fini(&nodes);
}

static Hk__ExitKind exit_of(const Hk__Snapshot *snapshot, int32_t rank)
{
	size_t i = 0;
	while (i < snapshot->n_processes && snapshot->processes[i]->rank != rank) {
		i++;
	}
	assert_true(i < snapshot->n_processes);
	return snapshot->processes[i]->exit_kind;
}

static void test_nodes_open_until_the_last_has_closed(void **state)
{
	const struct place *place = *state;
	const Hk__Job fine = ended("exit 0", 0);
	Hk__Job open = HK__JOB__INIT;
	struct hk_nodes nodes;
	open.exit = (char *)"running";
	put_node(place, "a", 0, 1000, &fine);
	put_node(place, "b", 1, 1000, &open);
	Hk__Snapshot *snapshot = load(place, &nodes);
	assert_false(snapshot->job->closed);
	assert_string_equal(snapshot->job->exit, "running");
	assert_true(nodes.parts[1].open && nodes.parts[1].fresh);
	assert_int_equal(exit_of(snapshot, 1), HK__EXIT_KIND__EXIT_RUNNING);
	hk__snapshot__free_unpacked(snapshot, NULL);
	hk_nodes_fini(&nodes);

	/* Its machine died: no collector will ever close it. */
	make_silent(place, "b");
	snapshot = load(place, &nodes);
	assert_true(snapshot->job->closed);
	assert_string_equal(snapshot->job->exit, "exit 0");
	assert_true(nodes.parts[1].open && !nodes.parts[1].fresh);
	assert_int_equal(exit_of(snapshot, 1), HK__EXIT_KIND__EXIT_VANISHED);
	hk__snapshot__free_unpacked(snapshot, NULL);
	hk_nodes_fini(&nodes);
}

static void test_nodes_bad_ones_cost_only_themselves(void **state)
{
	const struct place *place = *state;
	const Hk__Job fine = ended("exit 0", 0);
	struct hk_nodes nodes;
	char path[128];
	put_node(place, "a", 0, 1000, &fine);
	put_node(place, "b", 1, 1000, &fine);
	path_of(place, "b", HK_STATISTICS_FILE, path);
	assert_int_equal(truncate(path, 60), 0); /* within its first frame */
	make_node(place, "c");			 /* has said what it is, and nothing yet */
	touch(place, "c", "job.json");
	make_node(place, "b-2"); /* nothing of ours in it */
	Hk__Snapshot *snapshot = load(place, &nodes);
	assert_int_equal(nodes.count, 3);
	assert_int_equal(nodes.parts[0].error, 0);
	assert_int_equal(nodes.parts[1].error, -EBADMSG);
	assert_int_equal(nodes.parts[2].error, -ENOENT);
	assert_false(snapshot->job->closed); /* b and c may go on */
	assert_int_equal(snapshot->n_processes, 1);
	hk__snapshot__free_unpacked(snapshot, NULL);
	hk_nodes_fini(&nodes);
}

static void test_nodes_none(void **state)
{
	const struct place *place = *state;
	struct hk_nodes nodes;
	assert_int_equal(hk_nodes_find(place->dir, &nodes), -ENOENT);
	assert_int_equal(hk_nodes_find("/dev/null", &nodes), -ENOENT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_nodes_are_one_job),
	    TEST(test_nodes_open_until_the_last_has_closed),
	    TEST(test_nodes_bad_ones_cost_only_themselves),
	    TEST(test_nodes_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
