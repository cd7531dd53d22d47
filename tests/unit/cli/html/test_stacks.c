/* The stacks of the page: however many there are, the document is bounded, and no call is lost from
 * its sums. A job of many stacks is made by hand, and the document read by jansson. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/html/document.h"
#include "report/model/stacks.h"

#define FUNCTIONS 3u
static const char *const functions[FUNCTIONS] = {"alpha", "beta", "gamma"};

/* COUNT stacks, each of ten frames of which the outer ones are common to some, from GROUPS groups.
 */
struct job {
	Hk__Process process;
	Hk__StackFrames *parts;
	struct hk_stack_rows rows;
	size_t part_count;
	uint32_t frames;
};

static uint32_t frame_add(struct job *job, uint32_t caller, uint64_t address)
{
	size_t at = job->frames % HK_STACKS_PART_FRAMES;
	Hk__StackFrames *part = &job->parts[job->frames / HK_STACKS_PART_FRAMES];

	if (at == 0) {
		hk__stack_frames__init(part);
		part->part = job->frames / HK_STACKS_PART_FRAMES;
		part->caller = calloc(HK_STACKS_PART_FRAMES, sizeof(*part->caller));
		part->object = calloc(HK_STACKS_PART_FRAMES, sizeof(*part->object));
		part->address = calloc(HK_STACKS_PART_FRAMES, sizeof(*part->address));
		job->process.stack_frames[job->process.n_stack_frames++] = part;
	}
	part->caller[at] = caller;
	part->address[at] = address;
	part->n_caller = part->n_object = part->n_address = at + 1;
	return ++job->frames;
}

static void job_make(struct job *job, size_t count, uint32_t groups)
{
	size_t parts = count * 11 / HK_STACKS_PART_FRAMES + 2;
	uint32_t common[100];

	*job = (struct job){.frames = 0};
	hk__process__init(&job->process);
	job->parts = calloc(parts, sizeof(*job->parts));
	job->process.stack_frames = calloc(parts, sizeof(*job->process.stack_frames));
	job->rows.rows = calloc(count * groups + 1, sizeof(*job->rows.rows));
	job->rows.shares = calloc(FUNCTIONS, sizeof(*job->rows.shares));
	job->rows.share_count = FUNCTIONS;
	for (uint32_t i = 0; i < 100; i++) {
		common[i] = frame_add(job, i < 10 ? 0 : common[i / 10], 1000 + i);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t stack = common[i % 100];
		for (uint64_t depth = 0; depth < 8; depth++) {
			stack = frame_add(job, stack, 100000 + i * 8 + depth);
		}
		for (uint32_t group = 0; group < groups; group++) {
			struct hk_stack_row *row = &job->rows.rows[job->rows.count++];
			struct hk_stack_share *share = &job->rows.shares[i % FUNCTIONS];
			*row = (struct hk_stack_row){.function = functions[i % FUNCTIONS],
						     .library = "/bin/a",
						     .domain = "user",
						     .group = group,
						     .calls = 1 + i % 7,
						     .total_ns = 1 + (i * 7919) % 100000,
						     .process = &job->process,
						     .stack = stack};
			share->function = row->function;
			share->calls += row->calls;
			share->stacks += row->calls;
			share->total_ns += row->total_ns;
		}
	}
}

static void job_free(struct job *job)
{
	for (size_t i = 0; i < job->process.n_stack_frames; i++) {
		free(job->parts[i].caller);
		free(job->parts[i].object);
		free(job->parts[i].address);
	}
	free(job->parts);
	free(job->process.stack_frames);
	free(job->rows.rows);
	free(job->rows.shares);
}

/* The document of JOB, and its size. */
static json_t *document_of(const struct job *job, size_t *ret_size)
{
	char *text = NULL;
	FILE *output = open_memstream(&text, ret_size);
	struct hk_json json = {.output = output};

	hk_json_open(&json, NULL, '{');
	assert_int_equal(hk_html_stacks_write(&job->rows, &json), 0);
	hk_json_close(&json, '}');
	fclose(output);
	json_t *document = json_loads(text, 0, NULL);
	assert_non_null(document);
	free(text);
	return document;
}

static json_int_t number_at(const json_t *array, size_t index)
{
	return json_integer_value(json_array_get(array, index));
}

/* The frames are a tree, numbered with callers first; frames that were cut off are counted. */
static void check_tree(const json_t *stacks, uint64_t all)
{
	const json_t *caller = json_object_get(stacks, "caller"),
		     *frame = json_object_get(stacks, "frame");
	size_t count = json_array_size(caller),
	       texts = json_array_size(json_object_get(stacks, "texts"));
	uint64_t kept = 0, cut = 0;

	assert_int_equal(json_array_size(frame), count);
	assert_int_equal(number_at(caller, 0), -1);
	for (size_t i = 1; i < count; i++) {
		assert_true(number_at(caller, i) >= 0 && number_at(caller, i) < (json_int_t)i);
		if (number_at(frame, i) < 0) {
			cut += (uint64_t)-number_at(frame, i);
		} else {
			kept++;
			assert_true(number_at(frame, i) < (json_int_t)texts);
		}
	}
	assert_int_equal(kept + cut, all);
	assert_int_equal(json_integer_value(json_object_get(stacks, "frames_all")), all);
	assert_true(kept <= HK_HTML_STACK_FRAMES);
}

/* The sums by function and group are those of the rows. */
static void check_sums(const json_t *stacks, const struct job *job)
{
	const json_t *values = json_object_get(stacks, "values"),
		     *names = json_object_get(stacks, "functions");
	uint64_t calls[FUNCTIONS][HK_HTML_STACK_GROUPS + 1] = {{0}};
	uint64_t total_ns[FUNCTIONS][HK_HTML_STACK_GROUPS + 1] = {{0}};

	assert_true(json_array_size(values) <= 5u * HK_HTML_STACK_VALUES);
	assert_int_equal(json_array_size(names), FUNCTIONS);
	for (size_t i = 0; i < json_array_size(values); i += 5) {
		json_int_t function = number_at(values, i + 1), group = number_at(values, i + 2);
		assert_true(number_at(values, i) <
			    (json_int_t)json_array_size(json_object_get(stacks, "caller")));
		calls[function][group] += (uint64_t)number_at(values, i + 3);
		total_ns[function][group] += (uint64_t)number_at(values, i + 4);
	}
	for (size_t i = 0; i < job->rows.count; i++) {
		const struct hk_stack_row *row = &job->rows.rows[i];
		size_t function = 0;
		while (strcmp(json_string_value(
				  json_object_get(json_array_get(names, function), "name")),
			      row->function) != 0) {
			function++;
		}
		calls[function][row->group] -= row->calls;
		total_ns[function][row->group] -= row->total_ns;
	}
	for (size_t i = 0; i < FUNCTIONS; i++) {
		for (size_t k = 0; k <= HK_HTML_STACK_GROUPS; k++) {
			assert_int_equal(calls[i][k], 0);
			assert_int_equal(total_ns[i][k], 0);
		}
	}
}

static void check(size_t count, uint32_t groups)
{
	struct job job;
	size_t size;

	job_make(&job, count, groups);
	json_t *document = document_of(&job, &size);
	const json_t *stacks = json_object_get(document, "stacks");
	check_tree(stacks, job.frames);
	check_sums(stacks, &job);
	assert_true(size < 4u << 20);
	json_decref(document);
	job_free(&job);
}

static void test_few_stacks_are_whole(void **state)
{
	(void)state;
	check(300, 2);
}

static void test_many_stacks_are_cut(void **state)
{
	(void)state;
	check(30000, 1);
}

static void test_many_groups_leave_fewer_frames(void **state)
{
	(void)state;
	check(20000, HK_HTML_STACK_GROUPS + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_few_stacks_are_whole),
	    cmocka_unit_test(test_many_stacks_are_cut),
	    cmocka_unit_test(test_many_groups_leave_fewer_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
