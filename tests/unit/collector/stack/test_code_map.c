/* Addresses of this process are found in its files, where the loader and the symbol tables have
 * them; lines and files that are damaged name nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/stack/code_map.h"
#include "collector/stack/dump.h"
#include "report/model/stacks.h"

static void expect_found(struct hk_code_map *map, const void *function)
{
	struct link_map *object;
	Dl_info info;

	assert_true(dladdr1(function, &info, (void **)&object, RTLD_DL_LINKMAP));
	const struct hk_code_range *range = hk_code_map_find(map, (uint64_t)function);
	assert_non_null(range);
	assert_int_equal((uint64_t)function - range->start + range->file,
			 (uint64_t)function - object->l_addr);
	assert_true(range->build_id_bytes > 0);
}

static void test_own_functions_are_found(void **state)
{
	struct hk_code_map map;
	int on_stack;

	(void)state;
	assert_int_equal(hk_code_map_read((uint32_t)getpid(), &map), 0);
	expect_found(&map, (const void *)test_own_functions_are_found);
	expect_found(&map, dlsym(RTLD_DEFAULT, "qsort"));
	assert_null(hk_code_map_find(&map, 0));
	assert_null(hk_code_map_find(&map, UINT64_MAX));
	assert_null(hk_code_map_find(&map, (uint64_t)&on_stack));
	hk_code_map_free(&map);
	assert_true(hk_code_map_read(0, &map) < 0);
}

static void test_lines_are_parsed(void **state)
{
	char line[] = "7f00-8000 r-xp 0000a000 08:01 42        /a b (deleted)\n";
	char anonymous[] = "7f00-8000 rwxp 00000000 00:00 0 \n";
	struct hk_code_range range;

	(void)state;
	assert_true(hk_code_map_parse(line, &range));
	assert_int_equal(range.start, 0x7f00);
	assert_int_equal(range.end, 0x8000);
	assert_int_equal(range.offset, 0xa000);
	assert_string_equal(range.path, "/a b (deleted)");
	assert_true(hk_code_map_parse(anonymous, &range));
	assert_string_equal(range.path, "");
	static const char *const bad[] = {"", "x", "7f00-8000 r--p 00000000 00:00 0 /a",
					  "8000-7f00 r-xp 00000000 00:00 0 /a", "7f00-8000"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char copy[64];
		snprintf(copy, sizeof(copy), "%s", bad[i]);
		assert_false(hk_code_map_parse(copy, &range));
	}
}

/* Maps a file that begins as an ELF file does, with senseless numbers behind. */
static void test_damaged_file_is_no_crash(void **state)
{
	char path[] = "/tmp/hk-code-map-XXXXXX";
	unsigned char bytes[4096];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	for (int fill = 0; fill < 256; fill += 51) {
		struct hk_code_map map;
		memset(bytes, fill, sizeof(bytes));
		memcpy(bytes, ELFMAG, SELFMAG);
		bytes[EI_CLASS] = ELFCLASS64;
		((Elf64_Ehdr *)(void *)bytes)->e_phentsize = sizeof(Elf64_Phdr);
		((Elf64_Ehdr *)(void *)bytes)->e_phnum = 3;
		((Elf64_Ehdr *)(void *)bytes)->e_phoff = fill == 255 ? UINT64_MAX : 64;
		assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
		void *code = mmap(NULL, sizeof(bytes), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(code, MAP_FAILED);
		assert_int_equal(hk_code_map_read((uint32_t)getpid(), &map), 0);
		const struct hk_code_range *range = hk_code_map_find(&map, (uint64_t)code + 8);
		assert_non_null(range);
		assert_string_equal(range->path, path);
		hk_code_map_free(&map);
		munmap(code, sizeof(bytes));
	}
	close(fd);
	unlink(path);
}

static int add(struct hk_dump *dump, const uint64_t *addresses, size_t count, uint32_t end,
	       uint32_t *ret_stack)
{
	uint64_t copy[4];
	const struct hk_dump_stack stack = {.address = copy, .count = count, .end = end};

	memcpy(copy, addresses, count * sizeof(*copy));
	return hk_dump_add(dump, &stack, ret_stack);
}

/* Frames 0 and 1 are one function in two lines. */
static void test_dump_names_python_frames(void **state)
{
	static struct hk_ask_python python = {
	    .frame = {{1, 9, 14, 10}, {1, 9, 12, 10}, {1, 14, 30, 20}},
	    .text = "\0/x/a.py\0step\0main",
	};
	const uint64_t here = (uint64_t)test_dump_names_python_frames;
	uint64_t address[] = {here, HK_ASK_PYTHON, HK_ASK_PYTHON | 1, here + 1, HK_ASK_PYTHON | 2};
	const struct hk_dump_stack stack = {address, 5, 0, &python};
	const struct {
		const char *name;
		uint64_t line, first;
	} wanted[] = {{"step", 14, 10}, {"step", 12, 10}, {"", 0, 0}, {"main", 30, 20}};
	Hk__Process *process = malloc(sizeof(*process));
	struct hk_stacks_frame frame;
	struct hk_dump *dump;
	uint32_t number;

	(void)state;
	hk__process__init(process);
	assert_int_equal(hk_dump_open((uint32_t)getpid(), process, &dump), 0);
	assert_int_equal(hk_dump_add(dump, &stack, &number), 0);
	assert_true(hk_stacks_valid(process));
	assert_int_equal(process->python_functions[0]->n_name, 2);
	assert_true(hk_stacks_frame(process, number, &frame));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_true(hk_stacks_frame(process, frame.caller, &frame));
		assert_int_equal(hk_stacks_is_python(&frame), wanted[i].line != 0);
		if (wanted[i].line) {
			assert_string_equal(frame.name, wanted[i].name);
			assert_string_equal(frame.path, "/x/a.py");
			assert_int_equal(frame.address, wanted[i].line);
			assert_int_equal(frame.first_line, wanted[i].first);
		}
	}
	assert_int_equal(frame.caller, 0);
	hk_dump_free(dump);
	hk__process__free_unpacked(process, NULL);
}

static void test_dump_keeps_each_frame_once(void **state)
{
	const uint64_t here = (uint64_t)test_dump_keeps_each_frame_once;
	const uint64_t first[] = {here + 3, here + 2, here + 1},
		       second[] = {here + 4, here + 2, here + 1};
	Hk__Process *process = malloc(sizeof(*process));
	struct hk_stacks_frame frame;
	struct hk_dump *dump;
	uint32_t stacks[3];

	(void)state;
	hk__process__init(process);
	assert_int_equal(hk_dump_open((uint32_t)getpid(), process, &dump), 0);
	assert_int_equal(add(dump, first, 3, 0, &stacks[0]), 0);
	assert_int_equal(add(dump, second, 3, 0, &stacks[1]), 0);
	assert_int_equal(add(dump, first, 1, 2, &stacks[2]), 0);
	assert_true(hk_stacks_valid(process));
	assert_int_equal(process->n_stack_objects, 1);
	assert_int_equal(process->stack_frames[0]->n_address, 6);
	assert_true(hk_stacks_frame(process, stacks[0], &frame));
	uint32_t caller = frame.caller;
	assert_true(hk_stacks_frame(process, stacks[1], &frame));
	assert_int_equal(frame.caller, caller);
	assert_true(hk_stacks_frame(process, stacks[2], &frame));
	assert_true(hk_stacks_frame(process, frame.caller, &frame));
	assert_int_equal(frame.object, HK_STACKS_OBJECT_END);
	assert_int_equal(frame.address, 2);
	hk_dump_free(dump);
	hk__process__free_unpacked(process, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_own_functions_are_found),
	    cmocka_unit_test(test_lines_are_parsed),
	    cmocka_unit_test(test_damaged_file_is_no_crash),
	    cmocka_unit_test(test_dump_keeps_each_frame_once),
	    cmocka_unit_test(test_dump_names_python_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
