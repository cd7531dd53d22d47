/* Walks of an interpreter's structures, each version's layout (simulated), as they should be and
 * with any word of them replaced: what is there is found, and nothing else is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/object/loader.h"
#include "agent/record/process.h"
#include "agent/stack/answer.h"
#include "agent/stack/code.h"
#include "agent/stack/python.h"
#include "agent/stack/python_code.h"
#include "agent/stack/python_layouts.h"
#include "hooks/hook.h"
#include "interpreter.h"

#define ROOM_BYTES (64u << 10)
#define ROUNDS 30000
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static char *room; /* between pages that cannot be read */
static size_t used;

/* ---- making ---- */

static uint64_t take(size_t bytes)
{
	uint64_t address = (uint64_t)room + used;

	used += (bytes + 63) & ~(size_t)63;
	assert_true(used <= ROOM_BYTES);
	memset((void *)address, 0, bytes);
	return address;
}

static void put(uint64_t address, uint64_t word)
{
	memcpy((void *)address, &word, sizeof(word));
}

static void put_half(uint64_t address, uint32_t half)
{
	memcpy((void *)address, &half, sizeof(half));
}

/* A text of COUNT characters of KIND bytes each. */
static uint64_t make_text(const struct hk_python_layout *layout, const void *data, uint64_t count,
			  uint32_t kind, bool ascii)
{
	uint64_t text = take(layout->text_wide + (count + 1) * kind);

	put(text + layout->object_type, (uint64_t)PyUnicode_Type);
	put(text + layout->text_length, count);
	put(text + layout->text_hash, UINT64_MAX);
	put_half(text + layout->text_state, 0x20u | kind << 2 | (ascii ? 0x40u : 0));
	memcpy((char *)text + (ascii ? layout->text_ascii : layout->text_wide), data, count * kind);
	return text;
}

static uint64_t make_code(const struct hk_python_layout *layout, uint64_t name, uint32_t first_line)
{
	uint64_t code = take(layout->code_bytes + 64u), lines = take(layout->bytes_data + 4u);

	put(lines + layout->object_type, (uint64_t)PyBytes_Type);
	put(lines + layout->bytes_length, 4);
	/* By steps, by ranges and by locations: one line further for all of 6 bytes or more. */
	memcpy((char *)lines + layout->bytes_data,
	       layout->version >= 0x030b ? "\xda\1\2\xda" : "\0\1\xfe\0", 4);
	if (layout->version == 0x030a) {
		memcpy((char *)lines + layout->bytes_data, "\xfe\1\xfe\0", 4);
	}
	put(code + layout->object_type, (uint64_t)PyCode_Type);
	put(code + layout->code_name, name);
	put(code + layout->code_file, make_text(layout, "/a/file.py", 10, 1, true));
	put(code + layout->code_lines, lines);
	put_half(code + layout->code_first_line, first_line);
	return code;
}

static uint64_t make_frame(const struct hk_python_layout *layout, uint64_t code, uint64_t previous)
{
	uint64_t frame = take(layout->frame_bytes + 8u);

	if (!layout->frame_owner) {
		put(frame + layout->object_type, (uint64_t)PyFrame_Type);
		put_half(frame + layout->frame_place, layout->version == 0x030a ? 1 : 2);
	} else {
		put(frame + layout->frame_place, code + layout->code_start + 2);
	}
	put(frame + layout->frame_code, code);
	put(frame + layout->frame_previous, previous);
	return frame;
}

/* Two functions, the inner one called from native code; the outer one's name is not ASCII. */
static void make(const struct hk_python_layout *layout)
{
	static const uint32_t wide[] = {0xe9, 0x540d, 0x10400, 0xdc80, 'x'};
	used = 0;
	uint64_t outer = make_code(layout, make_text(layout, wide, 5, 4, false), 100);
	uint64_t inner = make_code(layout, make_text(layout, "inner", 5, 1, true), 200);
	uint64_t mark = 0, frame;

	if (layout->frame_owner && !layout->frame_is_entry) {
		mark = make_frame(layout, 0, 0);
		*((char *)mark + layout->frame_owner) = 3;
	}
	frame = make_frame(layout, outer, mark);
	if (layout->frame_is_entry) {
		*((char *)frame + layout->frame_is_entry) = 1;
	}
	frame = make_frame(layout, inner, frame);
	simulated.thread = simulated.holder = take(512);
	if (layout->entry_previous) {
		uint64_t entry = take(64);
		put(simulated.thread + layout->thread_frame, entry);
		put(entry + layout->entry_frame, frame);
	} else {
		put(simulated.thread + layout->thread_frame, frame);
	}
}

/* What 3.13 says of itself. */
static void describe(const struct hk_python_layout *layout)
{
	memset(_PyRuntime, 0, sizeof(_PyRuntime));
	_PyRuntime[0] = 0x7970677562656478;
	const uint16_t words[][2] = {
	    {23, layout->thread_frame}, {24, layout->thread_id},       {29, layout->frame_previous},
	    {30, layout->frame_code},	{31, layout->frame_place},     {32, layout->frame_bytes},
	    {33, layout->frame_owner},	{35, layout->code_file},       {37, layout->code_name},
	    {38, layout->code_lines},	{39, layout->code_first_line}, {43, layout->code_start},
	    {45, layout->object_type},	{65, layout->bytes_length},    {66, layout->bytes_data},
	    {68, layout->text_state},	{69, layout->text_length},     {70, layout->text_ascii},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		_PyRuntime[words[i][0]] = words[i][1];
	}
}

/* Makes the process one with this version of the interpreter. */
static const struct hk_interpreter *become(const struct hk_python_layout *layout)
{
	Py_Version = (unsigned long)layout->version << 16;
	describe(layout);
	hk_loader_note_unload();
	hk_code_note_change();
	assert_null(hk_interpreter_get());
	hk_interpreter_refresh();
	const struct hk_interpreter *interpreter = hk_interpreter_get();
	assert_non_null(interpreter);
	assert_int_equal(interpreter->layout.version, layout->version);
	return interpreter;
}

/* ---- tests ---- */

static void expect_frames(const struct hk_interpreter *interpreter)
{
	struct hk_python_item items[HK_PYTHON_ITEMS];
	char text[HK_PYTHON_TEXT_BYTES];
	bool deep, marks = interpreter->layout.frame_owner;
	uint32_t count = hk_python_items(items, HK_PYTHON_USUAL, &deep);
	const struct hk_python_item *outer = marks ? &items[1] : &items[2];

	assert_false(deep);
	assert_int_equal(count, marks ? 3 : 4);
	assert_true(hk_python_code_name(interpreter, items[0].code, text, HK_PYTHON_USUAL));
	assert_string_equal(text, "inner");
	assert_int_equal(
	    hk_python_code_line(interpreter, items[0].code, items[0].place, HK_PYTHON_USUAL), 201);
	assert_true(hk_python_code_name(interpreter, outer->code, text, HK_PYTHON_USUAL));
	assert_string_equal(text, "\xc3\xa9\xe5\x90\x8d\xf0\x90\x90\x80\xef\xbf\xbdx");
	assert_true(hk_python_code_file(interpreter, outer->code, text, HK_PYTHON_USUAL));
	assert_string_equal(text, "/a/file.py");
	assert_int_equal(hk_python_code_first_line(interpreter, outer->code), 100);
	assert_int_equal(outer[1].code, 0);
	assert_int_not_equal(hk_python_hash(1, HK_PYTHON_USUAL), 1);
	assert_int_equal(hk_python_hash(1, HK_PYTHON_SIGNAL), hk_python_hash(1, HK_PYTHON_USUAL));
}

static void test_frames_of_each_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		make(&layouts[i]);
		expect_frames(become(&layouts[i]));
	}
}

static void test_threads_without_frames_or_at_the_end(void **state)
{
	struct hk_python_item items[HK_PYTHON_ITEMS];
	bool deep;

	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		make(&layouts[i]);
		become(&layouts[i]);
		uint64_t own = simulated.thread;
		simulated.holder = 0;
		assert_true(hk_python_items(items, HK_PYTHON_USUAL, &deep) > 0);
		simulated.ends =
		    1; /* another thread ends the interpreter, and may free this one's state */
		assert_int_equal(hk_python_items(items, HK_PYTHON_USUAL, &deep), 0);
		simulated.holder = own; /* this one ends it */
		assert_true(hk_python_items(items, HK_PYTHON_USUAL, &deep) > 0);
		simulated.ends = 0;
		simulated.thread = 0;
		assert_int_equal(hk_python_items(items, HK_PYTHON_USUAL, &deep), 0);
		assert_int_equal(hk_python_hash(7, HK_PYTHON_USUAL), 7);
	}
}

/* A signal comes when a new evaluation is known to the thread and has no frame yet. What its memory
 * says is left over from others. */
static void test_evaluation_that_has_not_begun_is_left_out(void **state)
{
	struct hk_python_item settled[HK_PYTHON_ITEMS], items[HK_PYTHON_ITEMS];
	bool deep;

	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		const struct hk_python_layout *layout = &layouts[i];
		if (!layout->entry_previous) {
			continue;
		}
		make(layout);
		become(layout);
		uint32_t count = hk_python_items(settled, HK_PYTHON_SIGNAL, &deep);
		assert_true(count > 0);
		uint64_t at = simulated.thread + layout->thread_frame, entry = take(64);
		put(entry + layout->entry_previous, *(uint64_t *)at);
		put(at, entry);
		uint64_t other = make_frame(layout, make_code(layout, 0, 7), entry);
		const uint64_t left[] = {0, 1, 8, (uint64_t)room - 64, entry, other};
		for (size_t k = 0; k < sizeof(left) / sizeof(left[0]); k++) {
			put(entry + layout->entry_frame, left[k]);
			assert_int_equal(hk_python_items(items, HK_PYTHON_SIGNAL, &deep), count);
			assert_memory_equal(items, settled, count * sizeof(*items));
		}
	}
}

/* A thread's variable may not be allocated before the thread has run anything. */
static void test_handler_asks_no_thread_without_frames(void **state)
{
	struct hk_python_item items[HK_PYTHON_ITEMS];
	bool deep;

	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		bool has_variable = layouts[i].version >= 0x030c;
		make(&layouts[i]);
		become(&layouts[i]);
		uint64_t at = simulated.thread + layouts[i].thread_frame;
		put(layouts[i].entry_previous ? *(uint64_t *)at + layouts[i].entry_frame : at, 0);
		simulated.asked = 0;
		assert_int_equal(hk_python_items(items, HK_PYTHON_SIGNAL, &deep), 0);
		assert_int_equal(simulated.asked, has_variable ? 0 : 1);
	}
}

/* Each change of what a code object shows changes its identity, and so the hash, before 3.12 where
 * it has no number. */
static void test_another_code_at_the_same_address(void **state)
{
	(void)state;
	make(&layouts[0]);
	const struct hk_interpreter *interpreter = become(&layouts[0]);
	const struct hk_python_layout *layout = &interpreter->layout;
	struct hk_python_item items[HK_PYTHON_ITEMS];
	bool deep;
	hk_python_items(items, HK_PYTHON_USUAL, &deep);
	uint64_t code = items[0].code, before = hk_python_identity(interpreter, code);
	uint64_t hash = hk_python_hash(0, HK_PYTHON_USUAL);
	char *name = *(char **)(code + layout->code_name);
	memcpy(name + layout->text_ascii, "other", 5);
	put((uint64_t)name + layout->text_hash, 4711);
	assert_int_not_equal(hk_python_identity(interpreter, code), before);
	assert_int_not_equal(hk_python_hash(0, HK_PYTHON_USUAL), hash);
	before = hk_python_identity(interpreter, code);
	char *file = *(char **)(code + layout->code_file);
	memcpy(file + layout->text_ascii, "/b/else.py", 10);
	assert_int_not_equal(hk_python_identity(interpreter, code), before);
	before = hk_python_identity(interpreter, code);
	put_half(code + layout->code_first_line, 201);
	assert_int_not_equal(hk_python_identity(interpreter, code), before);
}

/* A word of any kind: into the room, beside it, nowhere. */
static uint64_t any_word(void)
{
	uint64_t inside = (uint64_t)room + (uint64_t)random() % (ROOM_BYTES + 8192) - 4096;

	switch (random() % 8) {
	case 0:
		return 0;
	case 1:
		return (uint64_t)random() << 33 ^ (uint64_t)random();
	case 2:
		return UINT64_MAX - (uint64_t)random() % 64;
	case 3:
		return (uint64_t)room + ROOM_BYTES - (uint64_t)random() % 64;
	case 4:
		return inside;
	default:
		return (uint64_t)room + (uint64_t)random() % used / 64 * 64;
	}
}

static void walk_whatever(const struct hk_interpreter *interpreter)
{
	static const enum hk_python_care cares[] = {HK_PYTHON_USUAL, HK_PYTHON_FREEING,
						    HK_PYTHON_SIGNAL};
	struct hk_python_item items[HK_PYTHON_ITEMS];
	char text[HK_PYTHON_TEXT_BYTES];
	bool deep;
	uint32_t count = hk_python_items(items, cares[random() % 3], &deep);

	assert_true(count <= HK_PYTHON_ITEMS);
	hk_python_hash(0, cares[random() % 3]);
	for (uint32_t i = 0; i < count && i < 8; i++) {
		if (items[i].code) {
			hk_python_identity(interpreter, items[i].code);
			hk_python_code_line(interpreter, items[i].code, items[i].place,
					    HK_PYTHON_USUAL);
			hk_python_code_file(interpreter, items[i].code, text, HK_PYTHON_USUAL);
			hk_python_code_name(interpreter, items[i].code, text, HK_PYTHON_USUAL);
			assert_true(strlen(text) < sizeof(text));
		}
	}
}

static void test_any_words(void **state)
{
	(void)state;
	srandom(20261125);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		const struct hk_interpreter *interpreter = become(&layouts[i]);
		for (int round = 0; round < ROUNDS; round++) {
			make(&layouts[i]);
			for (long k = random() % 4; k >= 0; k--) {
				put((uint64_t)room + (uint64_t)random() % (used / 8) * 8,
				    any_word());
			}
			walk_whatever(interpreter);
		}
		simulated.thread = any_word();
		walk_whatever(interpreter);
	}
}

/* ---- answers to requests ---- */

static struct hk_ask *ask_of(uint32_t number)
{
	return (struct hk_ask *)(void *)((char *)hk_process.writer.header + HK_ASK_OFFSET) + number;
}

static const struct hk_ask_python *python_of(const struct hk_ask *ask)
{
	char *block = (char *)hk_process.writer.header + ask->python_block * HK_BLOCK_BYTES;

	assert_int_equal(((struct hk_block *)(void *)block)->kind, HK_BLOCK_ASKS);
	return (const struct hk_ask_python *)(void *)(block + sizeof(struct hk_block));
}

/* Lets the handler answer request NUMBER, on a stack with no more room than it says it needs. */
static const struct hk_ask *answer(uint32_t number)
{
	struct hk_ask *ask = ask_of(number);
	uint64_t own = (uint64_t)syscall(SYS_gettid) << 32;
#if !defined(__SANITIZE_ADDRESS__)
	size_t kernel = getauxval(AT_MINSIGSTKSZ);
	size_t bytes = (kernel ? kernel : MINSIGSTKSZ) + HK_ANSWER_BYTES, page = 4096;
	size_t all = (bytes + page - 1) / page * page;
	char *map =
	    mmap(NULL, all + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t small = {.ss_sp = map + page, .ss_size = bytes};
	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map, page, PROT_NONE), 0);
	assert_int_equal(sigaltstack(&small, NULL), 0);
#endif
	atomic_store(&ask->state, own | HK_ASK_ASKED);
	raise(SIGURG);
	assert_int_equal(atomic_load(&ask->state), own | HK_ASK_ANSWERED);
#if !defined(__SANITIZE_ADDRESS__)
	const stack_t none = {.ss_flags = SS_DISABLE};
	assert_int_equal(sigaltstack(&none, NULL), 0);
	munmap(map, all + page);
#endif
	return ask;
}

/* The frames of Python in an answer, which end with those that no native frame was found for. */
static void expect_python(const struct hk_ask *ask)
{
	assert_int_equal(ask->python_missing, HK_ASK_PYTHON_THERE);
	assert_int_equal(ask->python_count, 2);
	const struct hk_ask_python *python = python_of(ask);
	uint32_t inner = ask->count;
	for (uint32_t i = 0; i < ask->count && inner == ask->count; i++) {
		inner = ask->address[i] == HK_ASK_PYTHON ? i : inner;
	}
	assert_int_equal(ask->address[inner + 1], HK_ASK_PYTHON | 1);
	assert_string_equal(python->text + python->frame[0].name, "inner");
	assert_string_equal(python->text + python->frame[0].file, "/a/file.py");
	assert_int_equal(python->frame[0].line, 201);
	assert_int_equal(python->frame[0].first_line, 200);
	assert_int_equal(python->frame[1].file, python->frame[0].file);
	assert_int_equal(python->frame[1].first_line, 100);
	assert_true(python->frame[1].name > 0 && python->text[0] == '\0');
}

static void test_requests_are_answered_with_python_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		make(&layouts[i]);
		become(&layouts[i]);
		expect_python(answer(0));
		expect_python(answer(1));
		assert_int_not_equal(ask_of(0)->python_block, ask_of(1)->python_block);
		simulated.thread = 0;
		assert_int_equal(answer(0)->python_count, 0);
		assert_int_equal(ask_of(0)->python_block, 0);
	}
}

static void test_request_with_the_lock_held_is_answered_without(void **state)
{
	(void)state;
	make(&layouts[0]);
	become(&layouts[0]);
	assert_int_equal(hk_process_renew(), 0); /* no block is taken yet */
	assert_true(hk_process_lock());
	const struct hk_ask *ask = answer(0);
	assert_int_equal(ask->python_missing, HK_ASK_PYTHON_BUSY);
	assert_int_equal(ask->python_count, 0);
	assert_true(ask->count > 0);
	hk_process_unlock();
	expect_python(answer(0));
	uint32_t blocks = hk_process.writer.file_blocks;
	hk_process.writer.file_blocks = hk_process.writer.header->blocks;
	hk_process.writer.fixed = true;
	assert_int_equal(answer(1)->python_missing, HK_ASK_PYTHON_FULL);
	hk_process.writer.fixed = false;
	hk_process.writer.file_blocks = blocks;
}

static char directory[] = "/tmp/hk-unit-XXXXXX";

static int start_process(void)
{
	static char *argv[] = {"unit", NULL};
	char reason[256];

	assert_non_null(mkdtemp(directory));
	setenv("HOOK_RUN_DIR", directory, 1);
	assert_int_equal(hk_process_start(1, argv, environ, "", HK_LEVEL_COUNT, reason), 0);
	hk_answer_start();
	return 0;
}

static int setup(void **state)
{
	(void)state;
	char *all = mmap(NULL, ROOM_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(all != MAP_FAILED);
	room = all + 4096;
	assert_int_equal(mprotect(room, ROOM_BYTES, PROT_READ | PROT_WRITE), 0);
	hk_loader_setup();
	hk_interpreter_setup();
	return start_process();
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status, (void)kind, (void)place;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_frames_of_each_version),
	    cmocka_unit_test(test_threads_without_frames_or_at_the_end),
	    cmocka_unit_test(test_evaluation_that_has_not_begun_is_left_out),
	    cmocka_unit_test(test_handler_asks_no_thread_without_frames),
	    cmocka_unit_test(test_another_code_at_the_same_address),
	    cmocka_unit_test(test_requests_are_answered_with_python_frames),
	    cmocka_unit_test(test_request_with_the_lock_held_is_answered_without),
	    cmocka_unit_test(test_any_words),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
