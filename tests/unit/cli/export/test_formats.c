/* CSV, folded stacks and SQLite from calls made by hand: names that may hold anything, deep and cut
 * stacks, disks that are full, exports that end early. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "cli/export/exporter.h"
#include "hooks/hook.h"

#define ORIGIN_NS 1795000000000000000u
#define DEEP 2000u

/* Frames 1 and 2 of a process: `main`, and what it called, with a function that was inlined there.
 */
static uint32_t frame_callers[] = {0, 1}, frame_objects[] = {0, 0};
static uint64_t frame_addresses[] = {4096, 8192};
static Hk__StackFrames frames = {.n_caller = 2,
				 .caller = frame_callers,
				 .n_object = 2,
				 .object = frame_objects,
				 .n_address = 2,
				 .address = frame_addresses};
static Hk__StackFrames *frame_parts[] = {&frames};
static const Hk__Process with_stacks = {.n_stack_frames = 1, .stack_frames = frame_parts};

static size_t functions_at(const Hk__Process *of, uint32_t number,
			   struct hk_export_function list[HK_EXPORT_FUNCTIONS])
{
	const struct hk_export_function main = {
	    .text = "ma;in \xff", .name = "main", .library = "/bin/a", .file = ""};
	const struct hk_export_function inlined = {
	    .text = "inlined", .name = "inlined", .library = "/bin/a", .file = "a.c", .line = 7};
	const struct hk_export_function around = {
	    .text = "around", .name = "around", .library = "/bin/a", .file = "a.c", .line = 9};

	assert_ptr_equal(of, &with_stacks);
	list[0] = number == 1 ? main : inlined;
	list[1] = around;
	return number;
}

static const struct hk_export_process process = {.rank = 3,
						 .is_main = true,
						 .pid = 4711,
						 .show_pid = 4711,
						 .host = "n\"1",
						 .role = "main",
						 .command = "./solver",
						 .start_ns = ORIGIN_NS,
						 .clock_known = true,
						 .stacks = &with_stacks};
static const struct hk_export_process *const processes[] = {&process};
static const struct hk_export_site outer = {
    .index = 0, .function = "outer", .library = "/lib/a.so", .domain = "user"};
static const struct hk_export_site hostile = {.index = 1,
					      .function = "=se;mi \"x\"\n\x1b[2J",
					      .library = "/lib/\xef\xbf\xbd",
					      .domain = "mpi",
					      .key_count = 2,
					      .keys = {HK_KEY_BYTES, HK_KEY_COMM}};

struct scene {
	const struct hk_exporter_ops *ops;
	struct hk_exporter *exporter;
	struct hk_export_target target;
	struct hk_export_job job;
	Hk__Snapshot snapshot;
	struct hk_export_thread thread;
	char *text, path[PATH_MAX];
	size_t bytes;
};

static void begin(struct scene *scene, const char *format, uint64_t from_ns, uint64_t to_ns)
{
	scene->ops = hk_exporter_find(format);
	hk__snapshot__init(&scene->snapshot);
	scene->job = (struct hk_export_job){.id = "job",
					    .command = "./solver",
					    .functions = functions_at,
					    .start_ns = ORIGIN_NS,
					    .origin_ns = ORIGIN_NS,
					    .processes = processes,
					    .process_count = 1,
					    .snapshot = &scene->snapshot,
					    .from_ns = from_ns,
					    .to_ns = to_ns};
	scene->thread = (struct hk_export_thread){.process = &process,
						  .uid = 1,
						  .uuid = 1,
						  .sequence = 1,
						  .tid = 4712,
						  .show_tid = 4712,
						  .name = "wor ker"};
	scene->exporter = scene->ops->create(&scene->target);
	assert_non_null(scene->exporter);
	assert_int_equal(scene->ops->begin(scene->exporter, &scene->job), 0);
	if (scene->ops->thread) {
		assert_int_equal(scene->ops->thread(scene->exporter, &scene->thread), 0);
	}
}

static void begin_text(struct scene *scene, const char *format)
{
	scene->target.output = open_memstream(&scene->text, &scene->bytes);
	assert_non_null(scene->target.output);
	begin(scene, format, 0, UINT64_MAX);
}

static int end(struct scene *scene, bool whole)
{
	int rc = whole ? scene->ops->end(scene->exporter) : 0;

	if (scene->ops->forget) {
		scene->ops->forget(scene->exporter, &scene->thread);
	}
	scene->ops->free(scene->exporter);
	if (scene->target.output) {
		fclose(scene->target.output);
	}
	return rc;
}

static struct hk_slice slice(const struct hk_export_site *site, uint64_t start_ns, uint64_t end_ns)
{
	return (struct hk_slice){
	    .site = site, .start_ns = ORIGIN_NS + start_ns, .end_ns = ORIGIN_NS + end_ns};
}

static void open_call(struct scene *scene, const struct hk_slice *call)
{
	if (scene->ops->open) {
		assert_int_equal(scene->ops->open(scene->exporter, &scene->thread, call), 0);
	}
}

static int close_call(struct scene *scene, const struct hk_slice *call)
{
	return scene->ops->close(scene->exporter, &scene->thread, call);
}

/* `hostile` inside of `outer`. */
static void nested(struct scene *scene)
{
	struct hk_slice around = slice(&outer, 100, 1100), inside = slice(&hostile, 200, 500);

	inside.word_count = 2;
	inside.words[0] = 64;
	inside.words[1] = UINT64_MAX;
	inside.failed = true;
	open_call(scene, &around);
	open_call(scene, &inside);
	assert_int_equal(close_call(scene, &inside), 0);
	assert_int_equal(close_call(scene, &around), 0);
}

/* One packet: its tag, its length, and that many bytes. */
static size_t packet_bytes(const struct scene *scene, size_t at)
{
	size_t size = 0, head = 1;

	assert_int_equal((unsigned char)scene->text[at], 0x0a);
	for (unsigned shift = 0;; shift += 7) {
		unsigned char byte = (unsigned char)scene->text[at + head++];
		size |= (size_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			return head + size;
		}
	}
}

/* The writer ends the program if a packet is larger than was taken for granted. */
static void test_perfetto_has_room_for_the_largest_numbers(void **state)
{
	static const struct hk_export_site wide = {
	    .index = 2,
	    .function = "wide",
	    .library = "/lib/a.so",
	    .domain = "mpi",
	    .key_count = HK_SLICE_WORDS,
	    .keys = {HK_KEY_POINTER, HK_KEY_SIZE, HK_KEY_OLD_POINTER, HK_KEY_BYTES, HK_KEY_PEER,
		     HK_KEY_TAG, HK_KEY_COMM, HK_KEY_COUNT}};
	static struct hk_export_arrival arrivals[1000];
	struct scene scene = {0};
	struct hk_slice call = slice(&wide, 100, UINT64_MAX - ORIGIN_NS);
	(void)state;

	begin_text(&scene, "perfetto");
	scene.thread.sequence = UINT32_MAX - 1;
	scene.thread.uuid = UINT64_MAX;
	call.start_ns = UINT64_MAX - 1;
	call.end_ns = UINT64_MAX;
	call.failed = true;
	call.word_count = HK_SLICE_WORDS;
	memset(call.words, 0xff, sizeof(call.words));
	call.flow_out = UINT64_MAX;
	call.arrivals = arrivals;
	for (size_t i = 0; i < sizeof(arrivals) / sizeof(arrivals[0]); i++) {
		arrivals[i].id = UINT64_MAX - i;
	}
	/* The second time all names are known. */
	for (int i = 0; i < 2; i++) {
		call.arrival_count = 0;
		open_call(&scene, &call);
		call.arrival_count = sizeof(arrivals) / sizeof(arrivals[0]);
		assert_int_equal(close_call(&scene, &call), 0);
	}
	assert_int_equal(end(&scene, true), 0);
	size_t at = 0;
	while (at < scene.bytes) {
		at += packet_bytes(&scene, at);
	}
	assert_int_equal(at, scene.bytes);
	free(scene.text);
}

static void test_csv_is_one_quoted_line_per_call(void **state)
{
	static const char line[] =
	    "\n3,main,\"n\"\"1\",4711,4712,\"wor ker\",200,300,\"mpi\","
	    "\"'=se;mi \"\"x\"\"\n\xef\xbf\xbd[2J\",\"/lib/\xef\xbf\xbd\",1,0,";
	static const char values[] = ",64,,,\"0xffffffffffffffff\",";
	struct scene scene = {0};

	(void)state;
	begin_text(&scene, "csv");
	nested(&scene);
	assert_int_equal(end(&scene, true), 0);
	assert_ptr_equal(strstr(scene.text, "rank,role,host,pid,tid,thread,start_ns,"), scene.text);
	assert_non_null(strstr(scene.text, line));
	assert_non_null(strstr(strstr(scene.text, line), values));
	assert_non_null(strstr(scene.text, ",100,1000,\"user\",\"outer\",\"/lib/a.so\",0,0,"));
	free(scene.text);
}

static void test_folded_names_keep_to_their_frames(void **state)
{
	struct scene scene = {0};

	(void)state;
	scene.target.folded_split = HK_FOLDED_SPLIT_THREAD;
	begin_text(&scene, "folded");
	nested(&scene);
	assert_int_equal(end(&scene, true), 0);
	assert_string_equal(scene.text, "rank_3;wor_ker-4712;outer 700\n"
					"rank_3;wor_ker-4712;outer;=se:mi_\"x\"__[2J 300\n");
	free(scene.text);
}

static void test_folded_time_is_what_lies_within(void **state)
{
	struct scene scene = {0};

	(void)state;
	scene.target.output = open_memstream(&scene.text, &scene.bytes);
	assert_non_null(scene.target.output);
	begin(&scene, "folded", ORIGIN_NS + 300, ORIGIN_NS + 600);
	nested(&scene);
	assert_int_equal(end(&scene, true), 0);
	assert_string_equal(scene.text, "outer 100\nouter;=se:mi_\"x\"__[2J 200\n");
	free(scene.text);
}

/* `outer` from the stack of frame 2, `hostile` inside of it; then `outer` from an unknown stack. */
static void called(struct scene *scene)
{
	struct hk_slice around = slice(&outer, 100, 1100), inside = slice(&hostile, 200, 500);
	struct hk_slice unknown = slice(&outer, 2000, 2001);

	around.stack = 2;
	unknown.stack = 77;
	open_call(scene, &around);
	open_call(scene, &inside);
	assert_int_equal(close_call(scene, &inside), 0);
	assert_int_equal(close_call(scene, &around), 0);
	open_call(scene, &unknown);
	assert_int_equal(close_call(scene, &unknown), 0);
}

static void test_callers_are_frames(void **state)
{
	struct scene scene = {0};

	(void)state;
	begin_text(&scene, "folded");
	called(&scene);
	assert_int_equal(end(&scene, true), 0);
	assert_string_equal(scene.text,
			    "ma:in_\xef\xbf\xbd;around;inlined;outer 700\n"
			    "ma:in_\xef\xbf\xbd;around;inlined;outer;=se:mi_\"x\"__[2J 300\n"
			    "outer 1\n");
	free(scene.text);
	scene = (struct scene){0};
	begin_text(&scene, "chrome");
	called(&scene);
	assert_int_equal(end(&scene, true), 0);
	assert_non_null(strstr(scene.text, ",\"sf\":\"3.2\"}"));
	assert_null(strstr(scene.text, ".77\""));
	assert_non_null(strstr(
	    scene.text,
	    "\"stackFrames\":{\n\"3.1\":{\"name\":\"ma;in \xef\xbf\xbd\",\"category\":\"a\"},\n"
	    "\"3.2\":{\"name\":\"inlined\",\"category\":\"a\",\"parent\":\"3.2.1\"},\n"
	    "\"3.2.1\":{\"name\":\"around\",\"category\":\"a\",\"parent\":\"3.1\"}}"));
	free(scene.text);
}

/* A line names every call on the way: without a bound a recursion fills the disk. */
static void test_deep_stacks_end_in_one_frame(void **state)
{
	struct scene scene = {0};
	struct hk_slice calls[DEEP];

	(void)state;
	begin_text(&scene, "folded");
	for (unsigned int i = 0; i < DEEP; i++) {
		calls[i] = slice(&outer, i, 2 * DEEP - i);
		open_call(&scene, &calls[i]);
	}
	for (unsigned int i = DEEP; i-- > 0;) {
		assert_int_equal(close_call(&scene, &calls[i]), 0);
	}
	assert_int_equal(end(&scene, true), 0);
	/* All time is there: each level has 2 ns of its own, also those that are one frame. */
	char *deeper = strstr(scene.text, ";[deeper] ");

	assert_non_null(deeper);
	assert_int_equal(strtoul(deeper + strlen(";[deeper] "), NULL, 10), 2 * DEEP - 2 * 512);
	assert_null(strstr(deeper + 2, "[deeper]"));
	free(scene.text);
}

static void test_full_disk_is_an_error(void **state)
{
	static const char *const formats[] = {"csv", "folded"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct scene scene = {.target.output = fopen("/dev/full", "w")};

		if (!scene.target.output) {
			skip();
		}
		begin(&scene, formats[i], 0, UINT64_MAX);
		nested(&scene);
		assert_int_equal(end(&scene, true), -ENOSPC);
	}
}

static int64_t ask(const char *path, const char *question)
{
	sqlite3 *database;
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(database, question, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	int64_t answer = sqlite3_column_int64(statement, 0);

	sqlite3_finalize(statement);
	sqlite3_close(database);
	return answer;
}

static void test_sqlite_holds_calls_as_they_were(void **state)
{
	char directory[] = "/tmp/hk-tables-XXXXXX", path[sizeof(directory) + 8];
	struct scene scene = {0};
	struct hk_slice none = slice(&hostile, 2000, 2001);

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/a.db", directory);
	scene.target.path = path;
	begin(&scene, "sqlite", 0, UINT64_MAX);
	nested(&scene);
	none.word_count = 1;
	none.words[0] = UINT64_MAX; /* a read that failed has no bytes */
	open_call(&scene, &none);
	assert_int_equal(close_call(&scene, &none), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(end(&scene, true), 0);
	assert_int_equal(ask(path, "SELECT count(*) FROM calls"), 3);
	assert_int_equal(ask(path, "SELECT self_ns FROM calls WHERE depth = 1"), 700);
	assert_int_equal(ask(path, "SELECT value_comm FROM calls WHERE depth = 2"), -1);
	assert_int_equal(ask(path, "SELECT count(value_bytes) FROM calls"), 1);
	assert_int_equal(
	    ask(path, "SELECT count(*) FROM sites WHERE function LIKE '=se;mi \"x\"%'"), 1);
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
}

static void test_sqlite_that_ends_early_leaves_nothing(void **state)
{
	char directory[] = "/tmp/hk-tables-XXXXXX", path[sizeof(directory) + 8];
	struct scene scene = {0};

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/a.db", directory);
	scene.target.path = path;
	begin(&scene, "sqlite", 0, UINT64_MAX);
	nested(&scene);
	assert_int_equal(end(&scene, false), 0);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_perfetto_has_room_for_the_largest_numbers),
	    cmocka_unit_test(test_csv_is_one_quoted_line_per_call),
	    cmocka_unit_test(test_folded_names_keep_to_their_frames),
	    cmocka_unit_test(test_folded_time_is_what_lies_within),
	    cmocka_unit_test(test_callers_are_frames),
	    cmocka_unit_test(test_deep_stacks_end_in_one_frame),
	    cmocka_unit_test(test_full_disk_is_an_error),
	    cmocka_unit_test(test_sqlite_holds_calls_as_they_were),
	    cmocka_unit_test(test_sqlite_that_ends_early_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
