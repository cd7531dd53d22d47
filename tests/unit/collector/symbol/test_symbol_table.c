/* Functions of ELF files by address: those of the test's own file, whose addresses the loader
 * knows, and files that are damaged, of another build, or no ELF files. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/symbol/symbol_table.h"

#define SELF "/proc/self/exe"
#define DAMAGES 300

/* Reads the functions of the file at PATH. */
static int read_table(const char *path, struct hk_symbol_table **ret_table)
{
	struct hk_elf file;
	int r = hk_elf_open(path, &file);

	if (r == 0) {
		r = hk_symbol_table_read(&file, ret_table);
		hk_elf_close(&file);
	}
	return r;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uintptr_t *)data = info->dlpi_addr;
	return 1;
}

/* The address of a function of this program in its file. */
static uint64_t in_file(int (*function)(int))
{
	uintptr_t base = 0;

	dl_iterate_phdr(first_object, &base);
	return (uintptr_t)function - base;
}

static __attribute__((noinline)) int a_local_function(int value)
{
	return value * 2 + (int)getpid();
}

static void test_a_function_is_found_by_all_of_its_addresses(void **state)
{
	uint64_t address = in_file(a_local_function);
	struct hk_symbol_table *table;

	(void)state;
	assert_true(a_local_function(1) > 0);
	assert_int_equal(read_table(SELF, &table), 0);
	assert_string_equal(hk_symbol_table_find(table, address), "a_local_function");
	assert_string_equal(hk_symbol_table_find(table, address + 1), "a_local_function");
	assert_null(hk_symbol_table_find(table, 0));
	assert_null(hk_symbol_table_find(table, UINT64_MAX));
	assert_false(hk_symbol_table_is_partial(table));
	hk_symbol_table_free(table);
}

/* libc's own table is not in its file. Its exported names come without their versions. */
static int find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	snprintf(data, 4096, "%s", info->dlpi_name);
	return strstr(info->dlpi_name, "libc.so") != NULL;
}

static void test_versions_are_no_part_of_a_name(void **state)
{
	char path[4096];
	struct hk_symbol_table *table;
	unsigned named = 0;

	(void)state;
	assert_true(dl_iterate_phdr(find_libc, path));
	assert_int_equal(read_table(path, &table), 0);
	for (uint64_t address = 0; address < 1u << 21; address += 16) {
		const char *name = hk_symbol_table_find(table, address);
		assert_true(!name || !strchr(name, '@'));
		named += name != NULL;
	}
	assert_true(named > 1000);
	hk_symbol_table_free(table);
}

static void test_other_files_are_refused(void **state)
{
	struct hk_symbol_table *table;

	(void)state;
	assert_int_equal(read_table("/proc/self/maps", &table), -ENOEXEC);
	assert_int_equal(read_table("/dev/null", &table), -ENOEXEC);
	assert_int_equal(read_table("/absent", &table), -ENOENT);
	assert_int_equal(read_table("/tmp", &table), -ENOEXEC);
}

static uint8_t *own_file(size_t *ret_size)
{
	int fd = open(SELF, O_RDONLY | O_CLOEXEC);
	struct stat file;

	assert_true(fd >= 0 && fstat(fd, &file) == 0);
	uint8_t *bytes = malloc((size_t)file.st_size);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)file.st_size), file.st_size);
	close(fd);
	*ret_size = (size_t)file.st_size;
	return bytes;
}

/* Bytes of the file and section headers, and the file's length, are what a damaged file may lie
 * about. */
static void test_damaged_files_do_no_harm(void **state)
{
	char path[] = "/tmp/hk-symbols-XXXXXX";
	int fd = mkstemp(path);
	struct hk_symbol_table *table;
	size_t size;
	uint8_t *bytes = own_file(&size);
	ElfW(Ehdr) header;

	(void)state;
	assert_true(fd >= 0);
	memcpy(&header, bytes, sizeof(header));
	srand(1);
	for (unsigned i = 0; i < DAMAGES; i++) {
		size_t headers = (size_t)header.e_shnum * header.e_shentsize;
		size_t at = i % 3 == 0 ? (size_t)rand() % sizeof(header)
				       : header.e_shoff + (size_t)rand() % headers;
		size_t cut = i % 10 == 9 ? (size_t)rand() % size : size;
		uint8_t before = bytes[at];
		bytes[at] = (uint8_t)rand();
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, bytes, cut, 0), cut);
		bytes[at] = before;
		if (read_table(path, &table) == 0) {
			hk_symbol_table_find(table, in_file(a_local_function));
			hk_symbol_table_free(table);
		}
	}
	free(bytes);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_function_is_found_by_all_of_its_addresses),
	    cmocka_unit_test(test_versions_are_no_part_of_a_name),
	    cmocka_unit_test(test_other_files_are_refused),
	    cmocka_unit_test(test_damaged_files_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
