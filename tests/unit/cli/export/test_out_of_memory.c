/* Out of memory, at every allocation in turn: it is returned as an error, and nothing is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>

#include "cli/export/activity.h"
#include "cli/export/chain.h"
#include "cli/flow/flow.h"
#include "hooks/hook.h"

#define REQUESTS 400u /* more than a table of hashes begins with */

/* ---- an allocator that fails once ---- */

static uint64_t until; /* allocations that succeed before; 0: none fails */
static bool failed;

static bool fails(void)
{
	if (until == 0 || --until > 0) {
		return false;
	}
	failed = true;
	return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, count, size);
}

/* Calls WORK with the first allocation failing, then the second, until none does; each time it must
 * return -ENOMEM. */
static void each_allocation_fails(int (*work)(void), uint64_t least)
{
	uint64_t count = 0;

	do {
		failed = false;
		until = ++count;
		int rc = work();
		until = 0;
		assert_int_equal(rc, failed ? -ENOMEM : 0);
	} while (failed);
	assert_true(count > least);
}

/* ---- calls of two ranks ---- */

static const struct hk_export_site receive_site = {
    .function = "MPI_Irecv",
    .domain = "mpi",
    .meaning = HK_MEANING_RECV,
    .key_count = 4,
    .keys = {HK_KEY_COMM, HK_KEY_PEER, HK_KEY_TAG, HK_KEY_REQUEST},
};
static const struct hk_export_site send_site = {
    .function = "MPI_Send",
    .domain = "mpi",
    .meaning = HK_MEANING_SEND,
    .key_count = 3,
    .keys = {HK_KEY_COMM, HK_KEY_PEER, HK_KEY_TAG},
};
static const struct hk_export_site reduce_site = {
    .function = "MPI_Allreduce",
    .domain = "mpi",
    .meaning = HK_MEANING_COLLECTIVE,
    .key_count = 1,
    .keys = {HK_KEY_COMM},
};
static const struct hk_export_process ranks[] = {{.index = 0, .rank = 0, .role = "main"},
						 {.index = 1, .rank = 1, .role = "main"}};
static const struct hk_export_thread threads[] = {{.process = &ranks[0]}, {.process = &ranks[1]}};

static int open_call(struct hk_flows *flows, int rank, const struct hk_export_site *site,
		     uint64_t start_ns, uint64_t tag, uint64_t request)
{
	struct hk_slice slice = {.start_ns = start_ns,
				 .end_ns = start_ns + 1,
				 .site = site,
				 .word_count = site->key_count,
				 .words = {HK_COMM_WORLD, (uint64_t)!rank, tag, request}};
	int rc = hk_flows_open(flows, &threads[rank], &slice, true);

	hk_flows_skip(flows, &slice);
	return rc;
}

static int flows_work(void)
{
	struct hk_flows *flows = hk_flows_new(2);
	int rc = flows ? 0 : -ENOMEM;

	for (uint64_t i = 0; rc == 0 && i < REQUESTS; i++) {
		rc = open_call(flows, 0, &receive_site, 10 * i, i, 4096 + 8 * i);
	}
	for (int rank = 0; rc == 0 && rank < 2; rank++) {
		rc = open_call(flows, rank, &reduce_site, 10 * REQUESTS, 0, 0);
	}
	if (rc == 0) {
		rc = open_call(flows, 1, &send_site, 10 * REQUESTS + 5, 7, 0);
	}
	hk_flows_free(flows);
	return rc;
}

static int streams_work(void)
{
	struct hk_stream *streams = NULL, *found;
	bool is_new;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < REQUESTS; i++) {
		const struct hk_device_activity activity = {.stream = 4096 + i};
		rc = hk_streams_find(&streams, 1, &activity, &found, &is_new);
	}
	hk_streams_free(streams);
	return rc;
}

static int chains_work(void)
{
	struct hk_chains chains = {.list = NULL};
	const struct hk_chain_part part = {.thread = &threads[0]};
	int rc = 0;

	for (uint64_t id = 1; rc == 0 && id <= REQUESTS; id++) {
		rc = hk_chains_begin(&chains, id, &part);
	}
	hk_chains_free(&chains);
	return rc;
}

/* ---- stacks ---- */

#define FRAMES 100u /* of one stack */

/* Every third frame has a function that was inlined there. */
static size_t functions_at(const Hk__Process *process, uint32_t number,
			   struct hk_export_function list[HK_EXPORT_FUNCTIONS])
{
	size_t count = number % 3 == 0 ? 2 : 1;

	(void)process;
	for (size_t i = 0; i < count; i++) {
		list[i] = (struct hk_export_function){
		    .name = "name", .library = "/a", .file = "file.c", .line = number};
		snprintf(list[i].text, sizeof(list[i].text), "frame %u.%zu", number, i);
	}
	return count;
}

/* A process with a stack of FRAMES frames in two objects, and a call from each frame of it. */
static int stacks_work_with(const char *format)
{
	static const struct hk_export_site site = {
	    .function = "called", .library = "/a", .domain = "user"};
	uint32_t caller[FRAMES], object[FRAMES];
	uint64_t address[FRAMES];
	Hk__StackFrames part = HK__STACK_FRAMES__INIT, *parts[] = {&part};
	Hk__StackObject objects[2] = {HK__STACK_OBJECT__INIT, HK__STACK_OBJECT__INIT};
	Hk__StackObject *list[] = {&objects[0], &objects[1]};
	Hk__Process state = HK__PROCESS__INIT;

	for (uint32_t i = 0; i < FRAMES; i++) {
		caller[i] = i;
		object[i] = 1 + i % 2;
		address[i] = i;
	}
	part.n_caller = part.n_object = part.n_address = FRAMES;
	part.caller = caller;
	part.object = object;
	part.address = address;
	objects[0].number = 1;
	objects[1].number = 2;
	objects[0].path = "/a";
	objects[1].path = "/b";
	state.n_stack_frames = 1;
	state.stack_frames = parts;
	state.n_stack_objects = 2;
	state.stack_objects = list;

	const struct hk_export_process process = {
	    .role = "main", .command = "", .host = "", .stacks = &state};
	const struct hk_export_process *const shown[] = {&process};
	struct hk_export_thread thread = {.process = &process, .name = "main", .sequence = 1};
	Hk__Snapshot snapshot = HK__SNAPSHOT__INIT;
	const struct hk_export_job job = {.id = "job",
					  .command = "",
					  .functions = functions_at,
					  .processes = shown,
					  .process_count = 1,
					  .snapshot = &snapshot,
					  .to_ns = UINT64_MAX};
	const struct hk_exporter_ops *ops = hk_exporter_find(format);
	struct hk_export_target target = {.output = fopen("/dev/null", "w"),
					  .folded_split = HK_FOLDED_SPLIT_THREAD};
	struct hk_exporter *exporter = ops->create(&target);
	int rc = exporter ? ops->begin(exporter, &job) : -ENOMEM;

	rc = rc == 0 ? ops->thread(exporter, &thread) : rc;
	for (uint32_t i = 1; rc == 0 && i <= FRAMES; i++) {
		const struct hk_slice slice = {
		    .start_ns = i, .end_ns = i + 1, .site = &site, .stack = i};
		rc = ops->open ? ops->open(exporter, &thread, &slice) : 0;
		rc = rc == 0 ? ops->close(exporter, &thread, &slice) : rc;
	}
	rc = rc == 0 ? ops->end(exporter) : rc;
	if (ops->forget) {
		ops->forget(exporter, &thread);
	}
	ops->free(exporter);
	fclose(target.output);
	return rc;
}

static int folded_work(void)
{
	return stacks_work_with("folded");
}

static int pprof_work(void)
{
	return stacks_work_with("pprof");
}

static int chrome_work(void)
{
	return stacks_work_with("chrome");
}

static int perfetto_work(void)
{
	return stacks_work_with("perfetto");
}

static void test_stacks(void **state)
{
	(void)state;
	each_allocation_fails(folded_work, 2 * FRAMES);
	each_allocation_fails(pprof_work, 2 * FRAMES);
	each_allocation_fails(chrome_work, FRAMES);
	each_allocation_fails(perfetto_work, FRAMES);
}

static void test_flows(void **state)
{
	(void)state;
	each_allocation_fails(flows_work, 2 * REQUESTS);
}

static void test_streams(void **state)
{
	(void)state;
	each_allocation_fails(streams_work, REQUESTS);
}

static void test_chains(void **state)
{
	(void)state;
	each_allocation_fails(chains_work, REQUESTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stacks),
	    cmocka_unit_test(test_flows),
	    cmocka_unit_test(test_streams),
	    cmocka_unit_test(test_chains),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
