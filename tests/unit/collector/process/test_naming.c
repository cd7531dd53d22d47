/* Frames and kernels get their names from another process, which here is this program, in another
 * role: it names an address by itself, ends at one file, and is silent at another one. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/lifecycle/discovery.h"
#include "collector/model/collector.h"
#include "collector/model/process.h"
#include "collector/process/naming.h"
#include "collector/symbol/reply.h"
#include "collector/symbol/symbol_reader.h"
#include "collector/symbol/symbols.h"
#include "report/model/stacks.h"
#include "world.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOK_MS 10
#define MANY 2500u /* frames: three parts, several requests */

/* ---- the reader ---- */

static void reply_to(const Hk__SymbolRequest *request)
{
	static struct hk_places places;
	static unsigned maps;
	struct hk_reply *reply = hk_reply_new(STDIN_FILENO, request->number);
	bool late = !*request->path && maps++ == 0; /* generated code has no name yet */
	char name[32];

	for (size_t i = 0; i < request->n_address && !late; i++) {
		snprintf(name, sizeof(name), "%c_%lx", strcmp(request->path, "/other") ? 'f' : 'g',
			 (unsigned long)request->address[i]);
		hk_places_clear(&places);
		if (request->address[i] % 10 == 1) {
			hk_places_add(&places, "inner", "/inner.c", 7);
			hk_places_add(&places, name, "/outer.c", 8);
		} else {
			hk_places_add(&places, name, NULL, 0);
		}
		hk_reply_add(reply, (uint32_t)i, &places);
	}
	hk_reply_end(reply, strcmp(request->path, "/absent") == 0 ? "it is not there" : "");
	hk_reply_free(reply);
}

static int read_symbols(void)
{
	static uint8_t bytes[HK_SYMBOL_READER_MESSAGE_BYTES];
	ssize_t size;

	while ((size = recv(STDIN_FILENO, bytes, sizeof(bytes), 0)) > 0) {
		Hk__SymbolRequest *request = hk__symbol_request__unpack(NULL, (size_t)size, bytes);
		if (!request || strcmp(request->path, "/crash") == 0) {
			return 1;
		}
		bool silent = strcmp(request->path, "/silent") == 0 ||
			      (!*request->path && request->n_address == 1);
		if (!silent) {
			reply_to(request);
		}
		hk__symbol_request__free_unpacked(request, NULL);
	}
	return 0;
}

/* ---- the process ---- */

struct scene {
	struct world world;
	struct process_maker maker;
	struct hk_process *process;
};

static void make(struct scene *scene)
{
	world_make(&scene->world);
	scene->world.collector->naming = hk_naming_new();
	assert_non_null(scene->world.collector->naming);
	process_maker_start(&scene->maker,
			    &(struct process_facts){.directory = scene->world.run, .job = "n"});
	hk_discovery_run(scene->world.collector);
	scene->process = world_find(&scene->world, &scene->maker);
}

static void end(struct scene *scene)
{
	scene->world.collector->naming = hk_naming_free(scene->world.collector->naming);
	process_maker_fini(&scene->maker);
	world_remove(&scene->world);
}

static void add_object(Hk__Process *state, const char *path)
{
	Hk__StackObject *object = malloc(sizeof(*object));

	hk__stack_object__init(object);
	state->stack_objects =
	    reallocarray(state->stack_objects, state->n_stack_objects + 1, sizeof(object));
	state->stack_objects[state->n_stack_objects++] = object;
	object->number = (uint32_t)state->n_stack_objects;
	object->path = strdup(path);
}

static void add_frame(Hk__Process *state, uint32_t object, uint64_t address)
{
	Hk__StackFrames *part =
	    state->n_stack_frames ? state->stack_frames[state->n_stack_frames - 1] : NULL;

	if (!part || part->n_address == HK_STACKS_PART_FRAMES) {
		part = malloc(sizeof(*part));
		hk__stack_frames__init(part);
		part->part = (uint32_t)state->n_stack_frames;
		part->caller = calloc(HK_STACKS_PART_FRAMES, sizeof(uint32_t));
		part->object = calloc(HK_STACKS_PART_FRAMES, sizeof(uint32_t));
		part->address = calloc(HK_STACKS_PART_FRAMES, sizeof(uint64_t));
		state->stack_frames =
		    reallocarray(state->stack_frames, part->part + 1, sizeof(part));
		state->stack_frames[state->n_stack_frames++] = part;
	}
	part->caller[part->n_caller++] = 0;
	part->object[part->n_object++] = object;
	part->address[part->n_address++] = address;
}

/* A kernel whose name the process did not know, or with NAME. */
static void add_kernel(Hk__Process *state, uint32_t object, uint64_t address, const char *name)
{
	Hk__Kernel *kernel = malloc(sizeof(*kernel));

	hk__kernel__init(kernel);
	state->kernels = reallocarray(state->kernels, state->n_kernels + 1, sizeof(kernel));
	state->kernels[state->n_kernels++] = kernel;
	kernel->number = (uint32_t)state->n_kernels;
	kernel->object = object;
	kernel->address = address;
	if (name) {
		kernel->name = strdup(name);
		kernel->name_bytes = (uint32_t)strlen(name);
	}
}

/* Runs until the job needs no more names. Time stands still, so nothing times out. */
static void settle(struct scene *scene, uint64_t now)
{
	struct hk_collector *collector = scene->world.collector;

	hk_naming_run(collector, now);
	while (!hk_naming_settled(collector, scene->process->job, now)) {
		struct pollfd fd = {hk_naming_fd(collector->naming), POLLIN, 0};
		/* Nothing is under way while frames are given up that are not asked for. */
		assert_true(fd.fd < 0 || poll(&fd, 1, LOOK_MS) >= 0);
		hk_naming_run(collector, now);
	}
}

static const char *name_of(const struct scene *scene, uint32_t number)
{
	struct hk_stacks_frame frame;

	assert_true(hk_stacks_frame(scene->process->state, number, &frame));
	return frame.name;
}

static const char *problem_of(const struct scene *scene, uint32_t object)
{
	return scene->process->state->stack_objects[object - 1]->unread;
}

/* ---- tests ---- */

static void test_all_frames_get_their_names(void **unused)
{
	struct hk_stacks_function functions[HK_STACKS_FUNCTIONS_MOST];
	struct scene scene;
	char wanted[32];

	(void)unused;
	make(&scene);
	Hk__Process *state = scene.process->state;
	add_object(state, "/one");
	add_object(state, "/two");
	add_object(state, "[vdso]");
	for (uint32_t i = 1; i <= MANY; i++) {
		add_frame(state, i % 7 == 0 ? HK_STACKS_OBJECT_END : 1 + i % 3, i);
	}
	scene.process->exited = true;
	scene.process->changed = false;
	assert_int_equal(hk_naming_add(scene.world.collector->naming, scene.process), 0);
	settle(&scene, SECOND_NS);
	assert_true(scene.process->changed);
	for (uint32_t i = 1; i <= MANY; i++) {
		snprintf(wanted, sizeof(wanted), "f_%x", i);
		assert_string_equal(name_of(&scene, i), i % 7 && i % 3 != 2 ? wanted : "");
		size_t count = hk_stacks_functions(state, i, functions);
		bool inlined = i % 10 == 1 && i % 7 && i % 3 != 2;
		assert_int_equal(count, inlined ? 2 : 1);
		assert_int_equal(functions[0].inlined, inlined);
		assert_string_equal(functions[0].name, inlined ? "inner" : name_of(&scene, i));
		assert_int_equal(functions[count - 1].line, inlined ? 8 : 0);
		assert_string_equal(functions[count - 1].name, name_of(&scene, i));
	}
	/* Frames that come later are asked for alone. */
	add_frame(state, 1, 0xabc);
	state->stack_frames[2]->name[0] = 0;
	assert_int_equal(hk_naming_add(scene.world.collector->naming, scene.process), 0);
	settle(&scene, SECOND_NS);
	assert_string_equal(name_of(&scene, MANY + 1), "f_abc");
	assert_string_equal(name_of(&scene, 2001), "");
	end(&scene);
}

static void test_a_file_that_ends_its_reader_is_noted(void **unused)
{
	struct scene scene;

	(void)unused;
	make(&scene);
	Hk__Process *state = scene.process->state;
	add_object(state, "/crash");
	add_object(state, "/fine");
	add_object(state, "/absent");
	add_frame(state, 1, 1);
	add_frame(state, 2, 2);
	add_frame(state, 3, 4);
	assert_int_equal(hk_naming_add(scene.world.collector->naming, scene.process), 0);
	settle(&scene, SECOND_NS);
	assert_string_equal(problem_of(&scene, 1), "it ended the process that read it");
	assert_string_equal(problem_of(&scene, 2), "");
	assert_string_equal(problem_of(&scene, 3), "it is not there");
	assert_string_equal(name_of(&scene, 1), "");
	assert_string_equal(name_of(&scene, 2), "f_2");
	/* It is not read again for frames that come later. */
	add_frame(state, 1, 3);
	assert_int_equal(hk_naming_add(scene.world.collector->naming, scene.process), 0);
	hk_naming_run(scene.world.collector, SECOND_NS);
	hk_naming_run(scene.world.collector, SECOND_NS);
	assert_true(hk_naming_settled(scene.world.collector, scene.process->job, SECOND_NS));
	end(&scene);
}

static void test_a_silent_reader_is_not_waited_for(void **unused)
{
	struct scene scene;

	(void)unused;
	make(&scene);
	struct hk_collector *collector = scene.world.collector;
	Hk__Process *state = scene.process->state;
	struct hk_job *job = scene.process->job;
	add_object(state, "/silent");
	add_object(state, "/fine");
	add_frame(state, 1, 1);
	add_frame(state, 2, 2);
	assert_int_equal(hk_naming_add(collector->naming, scene.process), 0);
	hk_naming_run(collector, SECOND_NS);
	assert_false(hk_naming_settled(collector, job, SECOND_NS));
	hk_naming_run(collector, 10 * SECOND_NS);
	assert_false(hk_naming_settled(collector, job, 10 * SECOND_NS));
	assert_true(hk_naming_settled(collector, job, 11 * SECOND_NS));
	assert_string_equal(problem_of(&scene, 1), "it was not read in time");
	assert_string_equal(name_of(&scene, 1), "");
	/* After a minute the reader is ended, and another one reads the next file. */
	add_frame(state, 2, 3);
	assert_int_equal(hk_naming_add(collector->naming, scene.process), 0);
	settle(&scene, SECOND_NS + HK_SYMBOLS_LIMIT_NS);
	assert_string_equal(name_of(&scene, 3), "f_3");
	end(&scene);
}

static void test_generated_code_is_asked_for_again(void **unused)
{
	struct scene scene;

	(void)unused;
	make(&scene);
	add_frame(scene.process->state, 0, 0x20);
	add_frame(scene.process->state, 0, 0x10);
	scene.process->exited = true;
	assert_int_equal(hk_naming_add(scene.world.collector->naming, scene.process), 0);
	settle(&scene, SECOND_NS);
	assert_string_equal(name_of(&scene, 1), "f_20");
	assert_string_equal(name_of(&scene, 2), "f_10");
	end(&scene);
}

/* A map that keeps the reader for a minute is not read for further frames: files of others wait. */
static void test_a_map_that_takes_too_long_is_not_read_again(void **unused)
{
	struct scene scene;

	(void)unused;
	make(&scene);
	struct hk_collector *collector = scene.world.collector;
	uint64_t later = SECOND_NS + HK_SYMBOLS_LIMIT_NS;
	add_object(scene.process->state, "/fine");
	add_frame(scene.process->state, 0, 0x10);
	assert_int_equal(hk_naming_add(collector->naming, scene.process), 0);
	hk_naming_run(collector, SECOND_NS);
	hk_naming_run(collector, later);
	scene.process->exited = true;
	add_frame(scene.process->state, 0, 0x20);
	add_frame(scene.process->state, 1, 0x30);
	assert_int_equal(hk_naming_add(collector->naming, scene.process), 0);
	settle(&scene, later);
	assert_string_equal(name_of(&scene, 1), "");
	assert_string_equal(name_of(&scene, 2), "");
	assert_string_equal(name_of(&scene, 3), "f_30");
	end(&scene);
}

/* ---- kernels ---- */

static void test_kernels_get_names_of_functions(void **unused)
{
	struct scene scene;
	char wanted[32];

	(void)unused;
	make(&scene);
	struct hk_naming *naming = scene.world.collector->naming;
	Hk__Process *state = scene.process->state;
	add_object(state, "/one");
	add_object(state, "/other");
	add_object(state, "[vdso]");
	/* Several requests: objects one after the other, in turns, and mixed. */
	for (uint32_t i = 1; i <= 600; i++) {
		uint32_t object = i <= 300 ? 1 : i <= 340 ? 1 + i % 2 : i <= 380 ? i % 5 : 2;
		add_kernel(state, object, i, i % 50 == 0 ? "told" : NULL);
	}
	add_frame(state, 2, 0xabc);
	scene.process->changed = false;
	assert_int_equal(hk_naming_add(naming, scene.process), 0);
	settle(&scene, SECOND_NS);
	assert_true(scene.process->changed);
	assert_string_equal(name_of(&scene, 1), "g_abc");
	for (uint32_t i = 1; i <= 600; i++) {
		const Hk__Kernel *kernel = state->kernels[i - 1];
		bool found = kernel->object == 1 || kernel->object == 2;
		snprintf(wanted, sizeof(wanted), "%c_%x", kernel->object == 1 ? 'f' : 'g', i);
		assert_string_equal(kernel->name, i % 50 == 0 ? "told" : found ? wanted : "");
	}
	/* A kernel that comes later is asked for alone, without any frame. */
	free(state->kernels[0]->name);
	state->kernels[0]->name = (char *)protobuf_c_empty_string;
	add_kernel(state, 2, 0xdef, NULL);
	assert_int_equal(hk_naming_add(naming, scene.process), 0);
	settle(&scene, SECOND_NS);
	assert_string_equal(state->kernels[600]->name, "g_def");
	assert_string_equal(state->kernels[0]->name, "");
	end(&scene);
}

static void test_kernels_of_files_that_are_not_read_stay_without_a_name(void **unused)
{
	struct scene scene;

	(void)unused;
	make(&scene);
	struct hk_collector *collector = scene.world.collector;
	Hk__Process *state = scene.process->state;
	struct hk_job *job = scene.process->job;
	add_object(state, "/crash");
	add_object(state, "/absent");
	add_object(state, "/fine");
	add_object(state, "/silent");
	for (uint32_t object = 1; object <= 3; object++) {
		add_kernel(state, object, object, NULL);
	}
	assert_int_equal(hk_naming_add(collector->naming, scene.process), 0);
	settle(&scene, SECOND_NS);
	assert_string_equal(state->kernels[0]->name, "");
	assert_string_equal(state->kernels[2]->name, "f_3");
	assert_string_equal(problem_of(&scene, 1), "it ended the process that read it");
	assert_string_equal(problem_of(&scene, 2), "it is not there");
	assert_string_equal(problem_of(&scene, 3), "");
	/* Neither a file that keeps its reader nor a kernel behind it is waited for. */
	add_kernel(state, 4, 4, NULL);
	add_kernel(state, 3, 5, NULL);
	assert_int_equal(hk_naming_add(collector->naming, scene.process), 0);
	hk_naming_run(collector, 2 * SECOND_NS);
	assert_false(hk_naming_settled(collector, job, 2 * SECOND_NS));
	assert_true(hk_naming_settled(collector, job, 12 * SECOND_NS));
	assert_string_equal(problem_of(&scene, 4), "it was not read in time");
	assert_string_equal(problem_of(&scene, 3), "it was not read in time");
	assert_string_equal(state->kernels[4]->name, "");
	end(&scene);
}

/* ---- messages ---- */

static Hk__Process *message_make(const char *path, uint64_t address)
{
	Hk__Process *message = malloc(sizeof(*message));

	hk__process__init(message);
	add_object(message, path);
	add_frame(message, 1, address);
	return message;
}

static const char *message_name(const Hk__Process *message)
{
	struct hk_stacks_frame frame;

	assert_true(hk_stacks_frame(message, 1, &frame));
	return frame.name;
}

/* Runs until MESSAGE waits for no names. */
static void settle_message(struct hk_collector *collector, uint64_t ticket)
{
	hk_naming_run(collector, SECOND_NS);
	while (hk_naming_is_pending(collector->naming, ticket)) {
		struct pollfd fd = {hk_naming_fd(collector->naming), POLLIN, 0};
		assert_true(fd.fd < 0 || poll(&fd, 1, -1) == 1);
		hk_naming_run(collector, SECOND_NS);
	}
}

static void test_a_message_is_named_before_processes(void **unused)
{
	Hk__Process *message = message_make("/fine", 0x20), *none = message_make("[vdso]", 1);
	struct scene scene;

	(void)unused;
	make(&scene);
	struct hk_naming *naming = scene.world.collector->naming;
	add_object(scene.process->state, "/fine");
	add_frame(scene.process->state, 1, 0x10);
	assert_int_equal(hk_naming_add(naming, scene.process), 0);
	assert_int_equal(hk_naming_begin(naming, none, 0), 0);
	assert_false(hk_naming_is_pending(naming, 0));
	uint64_t ticket = hk_naming_begin(naming, message, 0);
	assert_true(hk_naming_is_pending(naming, ticket));
	settle_message(scene.world.collector, ticket);
	assert_string_equal(message_name(message), "f_20");
	assert_string_equal(name_of(&scene, 1), "");
	hk_naming_end(naming, ticket);
	hk_naming_end(naming, 0);
	assert_string_equal(message->stack_objects[0]->unread, "");
	settle(&scene, SECOND_NS);
	assert_string_equal(name_of(&scene, 1), "f_10");
	hk__process__free_unpacked(message, NULL);
	hk__process__free_unpacked(none, NULL);
	end(&scene);
}

/* A message whose wait was ended gets no names, and no other message gets them. */
static void test_a_message_is_given_up(void **unused)
{
	Hk__Process *silent = message_make("/silent", 1), *fine = message_make("/fine", 2);
	struct scene scene;

	(void)unused;
	make(&scene);
	struct hk_collector *collector = scene.world.collector;
	uint64_t first = hk_naming_begin(collector->naming, silent, 0);
	hk_naming_run(collector, SECOND_NS);
	uint64_t second = hk_naming_begin(collector->naming, fine, 0);
	hk_naming_run(collector, SECOND_NS);
	hk_naming_end(collector->naming, first);
	hk_naming_end(collector->naming, second);
	assert_false(hk_naming_is_pending(collector->naming, first));
	assert_string_equal(silent->stack_objects[0]->unread, "it was not read in time");
	assert_string_equal(fine->stack_objects[0]->unread, "it was not read in time");
	assert_string_equal(message_name(silent), "");
	hk__process__free_unpacked(silent, NULL);
	hk__process__free_unpacked(fine, NULL);
	/* The reader that ends later has none of their requests. */
	hk_naming_run(collector, 2 * SECOND_NS + HK_SYMBOLS_LIMIT_NS);
	fine = message_make("/fine", 3);
	second = hk_naming_begin(collector->naming, fine, 0);
	settle_message(collector, second);
	assert_string_equal(message_name(fine), "f_3");
	hk__process__free_unpacked(fine, NULL);
	end(&scene);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_frames_get_their_names),
	    cmocka_unit_test(test_a_file_that_ends_its_reader_is_noted),
	    cmocka_unit_test(test_a_silent_reader_is_not_waited_for),
	    cmocka_unit_test(test_generated_code_is_asked_for_again),
	    cmocka_unit_test(test_a_map_that_takes_too_long_is_not_read_again),
	    cmocka_unit_test(test_kernels_get_names_of_functions),
	    cmocka_unit_test(test_kernels_of_files_that_are_not_read_stay_without_a_name),
	    cmocka_unit_test(test_a_message_is_named_before_processes),
	    cmocka_unit_test(test_a_message_is_given_up),
	};
	if (argc == 2 && strcmp(argv[1], HK_SYMBOL_READER_WORD) == 0) {
		return read_symbols();
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
