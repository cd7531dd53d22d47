/* Threads of many ranks merged into groups, and how they are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>

#include "cli/stacks/groups.h"
#include "cli/stacks/stacks_write.h"

#define RANKS 8
#define FRAMES 4

/* A process with two threads: the first one in PLACE, another one that waits for work. */
struct made {
	Hk__Process process;
	Hk__ThreadStack first, second, *threads[2];
	Hk__StackFrames part, *parts[1];
	uint32_t caller[FRAMES], object[FRAMES], name[FRAMES];
	uint64_t address[FRAMES];
	char *names[FRAMES];
	Hk__OpenCall call, *calls[1];
	Hk__Site site, *sites[1];
	Hk__Anchor seen;
};

static struct made made[RANKS];
static Hk__Process *list[RANKS];

static void make(uint32_t rank, const char *place)
{
	struct made *m = &made[rank];
	const char *names[FRAMES] = {"main", place, "start_thread", "pthread_cond_wait"};

	memset(m, 0, sizeof(*m));
	hk__process__init(&m->process);
	hk__thread_stack__init(&m->first);
	hk__thread_stack__init(&m->second);
	hk__stack_frames__init(&m->part);
	m->process.rank = (int32_t)rank;
	m->process.rank_known = true;
	m->process.role = HK__ROLE__ROLE_MAIN;
	m->process.pid = 100 + rank;
	m->first.tid = 100 + rank;
	m->first.stack = 2;
	m->second.tid = 200 + rank;
	m->second.name = (char *)"pool";
	m->second.stack = 4;
	m->threads[0] = &m->first;
	m->threads[1] = &m->second;
	m->process.thread_stacks = m->threads;
	m->process.n_thread_stacks = 2;
	for (uint32_t i = 0; i < FRAMES; i++) {
		m->names[i] = (char *)names[i];
		m->name[i] = i + 1;
		m->address[i] = rank * 16 + i; /* of no importance beside a name */
	}
	m->caller[1] = 1;
	m->caller[3] = 3;
	m->part.caller = m->caller;
	m->part.object = m->object;
	m->part.address = m->address;
	m->part.names = m->names;
	m->part.name = m->name;
	m->part.n_caller = m->part.n_object = m->part.n_address = FRAMES;
	m->part.n_names = m->part.n_name = FRAMES;
	m->parts[0] = &m->part;
	m->process.stack_frames = m->parts;
	m->process.n_stack_frames = 1;
	list[rank] = &m->process;
}

static void add_call(uint32_t rank, uint64_t seconds)
{
	struct made *m = &made[rank];

	hk__open_call__init(&m->call);
	hk__site__init(&m->site);
	hk__anchor__init(&m->seen);
	m->site.id = 7;
	m->site.function = (char *)"MPI_Barrier";
	m->site.domain = (char *)"mpi";
	m->call.tid = m->first.tid;
	m->call.site = 7;
	m->call.depth = 1;
	m->call.start_ticks = 1000;
	m->seen.ticks = 1000 + seconds * 1000000000u;
	m->process.tick_ns_q32 = 1ull << 32;
	m->process.seen = &m->seen;
	m->calls[0] = &m->call;
	m->sites[0] = &m->site;
	m->process.open_calls = m->calls;
	m->process.n_open_calls = 1;
	m->process.sites = m->sites;
	m->process.n_sites = 1;
}

static Hk__StacksReply reply(uint32_t count)
{
	Hk__StacksReply made_reply = HK__STACKS_REPLY__INIT;

	made_reply.processes = list;
	made_reply.n_processes = count;
	return made_reply;
}

static char *text_of(const Hk__StacksReply *from, bool all, unsigned width)
{
	const struct hk_stacks_look look = {.all = all, .width = width};
	struct hk_stack_groups groups;
	char *text;
	size_t size;
	FILE *output = open_memstream(&text, &size);

	assert_int_equal(hk_stack_groups_init(&groups, from), 0);
	assert_int_equal(hk_stacks_write_text(&groups, from, "job", &look, output), 0);
	hk_stack_groups_fini(&groups);
	fclose(output);
	return text;
}

static void expect_has(const char *text, const char *part)
{
	if (!strstr(text, part)) {
		fail_msg("not there: %s\nin:\n%s", part, text);
	}
}

static void test_equal_stacks_are_ranges_of_ranks(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		make(rank, rank == 3 ? "load" : "sum");
		if (rank != 3) {
			add_call(rank, rank + 1);
		}
	}
	Hk__StacksReply from = reply(RANKS);
	char *text = text_of(&from, false, 0);
	expect_has(text, "hooktrace stacks  job  8 ranks, 16 threads\n");
	expect_has(text, "\nranks 0-2,4-7  main          7 x  in MPI_Barrier for 1.00 s to 8.00 s "
			 "| sum <- main\n");
	expect_has(text, "\nrank 3         main          1 x  load <- main\n");
	expect_has(text, "\n8 idle threads not shown (-a shows them)\n");
	assert_true(strstr(text, "rank 3 ") > strstr(text, "ranks 0-2"));
	assert_null(strstr(text, "pool"));
	free(text);
	text = text_of(&from, true, 0);
	expect_has(text, "\nall            pool          8 x  pthread_cond_wait <- start_thread\n");
	assert_null(strstr(text, "not shown"));
	free(text);
}

static void test_missing_stack_has_its_reason(void **state)
{
	(void)state;
	make(0, "sum");
	made[0].first.stack = 0;
	made[0].first.missing = (char *)"blocks SIGURG\033[31m";
	Hk__StacksReply from = reply(1);
	char *node = (char *)"node a has not answered";
	from.missing = &node;
	from.n_missing = 1;
	char *text = text_of(&from, false, 0);
	expect_has(text, "rank 0  main          1 x  no stack: blocks SIGURG?[31m\n");
	expect_has(text, "! node a has not answered\n");
	expect_has(text, "--ptrace");
	free(text);
}

static void test_lines_fit_the_terminal(void **state)
{
	static char name[64];

	(void)state;
	memset(name, 'f', sizeof(name) - 1);
	make(0, name);
	Hk__StacksReply from = reply(1);
	char *text = text_of(&from, true, 60);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		/* A name that is longer than a line has one of its own. */
		size_t length = strcspn(line, "\n");
		assert_true(length <= 60 || memmem(line, length, name, strlen(name)));
	}
	free(text);
}

/* What a collector sends is checked: numbers of frames that are not there, and loops. */
static void test_senseless_numbers_are_no_crash(void **state)
{
	(void)state;
	make(0, "sum");
	made[0].first.stack = 4000000000u;
	made[0].caller[3] = 4;
	made[0].name[2] = 99;
	Hk__StacksReply from = reply(1);
	free(text_of(&from, true, 0));
	made[0].part.n_object = 1;
	free(text_of(&from, true, 0));
}

/* Makes frame 2 of the process, "main" of its pool thread, a function of Python in LINE. */
static void make_python(struct made *m, uint32_t line)
{
	static uint32_t file[] = {1}, first_line[] = {10};
	static char *files[] = {(char *)"/x/train.py"}, *functions[] = {(char *)"poll"};
	static Hk__PythonFunctions part, *parts[] = {&part};

	hk__python_functions__init(&part);
	part.files = files;
	part.file = file;
	part.name = functions;
	part.first_line = first_line;
	part.n_files = part.n_file = part.n_name = part.n_first_line = 1;
	m->process.python_functions = parts;
	m->process.n_python_functions = 1;
	m->object[1] = HK_STACKS_OBJECT_PYTHON | 1;
	m->name[1] = 0;
	m->address[1] = line;
}

static void test_python_lines_are_apart(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		make(rank, "step");
		make_python(&made[rank], rank == 5 ? 14 : 12);
	}
	Hk__StacksReply from = reply(RANKS);
	char *text = text_of(&from, false, 0);
	expect_has(text, "ranks 0-4,6,7  main          7 x  poll (train.py:12) <- main\n");
	expect_has(text, "rank 5         main          1 x  poll (train.py:14) <- main\n");
	free(text);
	made[5].process.python = 3ull << 32 | 0x030d;
	made[5].first.python_missing = (char *)"a reason";
	text = text_of(&from, false, 0);
	expect_has(text, "! no frames of Python 3.13 in stacks: it is a free-threaded build\n");
	expect_has(text, "! no Python frames in some stacks: a reason\n");
	free(text);
}

/* A Python function is not a wait, whatever its name. Waiting for the interpreter's lock is not
 * either. */
static void test_python_is_idle_only_in_a_wait(void **state)
{
	struct made *m = &made[0];

	(void)state;
	make(0, "step");
	m->first.tid = 1; /* not the first thread */
	m->process.pid = 2;
	make_python(m, 12);
	m->first.stack = 2;
	assert_false(hk_stack_groups_is_idle(&m->process, &m->first));
	m->caller[3] = 2; /* the pool's wait is called by Python */
	assert_true(hk_stack_groups_is_idle(&m->process, &m->second));
	m->caller[2] = 2; /* by way of the lock */
	m->caller[3] = 3;
	m->names[2] = (char *)"take_gil";
	assert_false(hk_stack_groups_is_idle(&m->process, &m->second));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equal_stacks_are_ranges_of_ranks),
	    cmocka_unit_test(test_python_lines_are_apart),
	    cmocka_unit_test(test_python_is_idle_only_in_a_wait),
	    cmocka_unit_test(test_missing_stack_has_its_reason),
	    cmocka_unit_test(test_lines_fit_the_terminal),
	    cmocka_unit_test(test_senseless_numbers_are_no_crash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
