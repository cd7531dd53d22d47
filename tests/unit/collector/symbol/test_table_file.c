/* Tables on disk: what was stored comes back, what was damaged does not, and room is kept. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

#include "collector/symbol/table_file.h"

#define ID_BYTES 20u
#define LARGE (100u << 20)

static char base[] = "/tmp/hk-tables-XXXXXX";
static const uint8_t build_id[ID_BYTES] = {0xab, 1, 2};

static int make_base(void **state)
{
	(void)state;
	return mkdtemp(base) && setenv("XDG_CACHE_HOME", base, 1) == 0 ? 0 : -1;
}

static int remove_base(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", base);
	return system(command);
}

static struct hk_symbol_table *own_table(void)
{
	struct hk_symbol_table *table;
	struct hk_elf file;

	assert_int_equal(hk_elf_open("/proc/self/exe", &file), 0);
	assert_int_equal(hk_symbol_table_read(&file, &table), 0);
	hk_elf_close(&file);
	return table;
}

static void test_a_table_comes_back(void **state)
{
	struct hk_symbol_table *table = own_table(), *again;
	int fd = hk_table_files_open();

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(hk_table_file_load(fd, build_id, ID_BYTES, &again), -ENOENT);
	assert_int_equal(hk_table_file_store(fd, build_id, ID_BYTES, table), 0);
	assert_int_equal(hk_table_file_load(fd, build_id, ID_BYTES, &again), 0);
	struct hk_symbols_content one = hk_symbol_table_content(table),
				  two = hk_symbol_table_content(again);
	assert_int_equal(one.count, two.count);
	assert_int_equal(one.names_bytes, two.names_bytes);
	assert_memory_equal(one.symbols, two.symbols, one.count * sizeof(*one.symbols));
	assert_memory_equal(one.names, two.names, one.names_bytes);
	for (size_t i = 0; i < one.count; i++) {
		assert_string_equal(hk_symbol_table_find(again, one.symbols[i].start),
				    hk_symbol_table_find(table, one.symbols[i].start));
	}
	/* Without a build id nothing says whose table it is. */
	assert_int_equal(hk_table_file_store(fd, build_id, 0, table), -EFBIG);
	assert_int_equal(hk_table_file_load(fd, build_id, 0, &again), -ENOENT);
	hk_symbol_table_free(again);
	hk_symbol_table_free(table);
	close(fd);
}

/* Changes every byte of the header and some of the rest, cuts the file, and renames another's. */
static void test_damaged_files_are_refused_and_removed(void **state)
{
	static const uint8_t other_id[ID_BYTES] = {0xcd};
	static const char name[] = "ab01020000000000000000000000000000000000.symbols";
	struct hk_symbol_table *table = own_table(), *again;
	int directory = hk_table_files_open();
	struct stat status;
	uint8_t byte;

	(void)state;
	assert_int_equal(hk_table_file_store(directory, build_id, ID_BYTES, table), 0);
	assert_int_equal(fstatat(directory, name, &status, 0), 0);
	for (off_t at = 0; at < status.st_size; at += at < 112 ? 1 : 997) {
		assert_int_equal(hk_table_file_store(directory, build_id, ID_BYTES, table), 0);
		int fd = openat(directory, name, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x41;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		/* Behind the build id the header has bytes of no meaning. */
		int r = hk_table_file_load(directory, build_id, ID_BYTES, &again);
		if (r == 0) {
			assert_true(at >= 40 + (off_t)ID_BYTES && at < 104);
			hk_symbol_table_free(again);
		} else {
			assert_int_equal(r, -EBADMSG);
			assert_int_equal(faccessat(directory, name, F_OK, 0), -1);
		}
	}
	for (off_t size = 0; size < status.st_size; size += size < 200 ? 13 : 4999) {
		assert_int_equal(hk_table_file_store(directory, build_id, ID_BYTES, table), 0);
		int fd = openat(directory, name, O_RDWR);
		assert_int_equal(ftruncate(fd, size), 0);
		close(fd);
		assert_int_equal(hk_table_file_load(directory, build_id, ID_BYTES, &again),
				 -EBADMSG);
	}
	assert_int_equal(hk_table_file_store(directory, other_id, ID_BYTES, table), 0);
	assert_int_equal(renameat(directory, "cd00000000000000000000000000000000000000.symbols",
				  directory, name),
			 0);
	assert_int_equal(hk_table_file_load(directory, build_id, ID_BYTES, &again), -EBADMSG);
	assert_int_equal(symlinkat("/etc/passwd", directory, name), 0);
	assert_int_equal(hk_table_file_load(directory, build_id, ID_BYTES, &again), -ELOOP);
	hk_symbol_table_free(table);
	close(directory);
}

static void test_old_files_make_room(void **state)
{
	static const char *const files[] = {"old", "older", "used"};
	static const long used[] = {2000, 1000, 3000};
	struct hk_symbol_table *table = own_table();
	int directory = hk_table_files_open();

	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct timespec times[2] = {{used[i], 0}, {used[i], 0}};
		int fd = openat(directory, files[i], O_RDWR | O_CREAT, 0600);
		assert_int_equal(ftruncate(fd, LARGE), 0);
		close(fd);
		assert_int_equal(utimensat(directory, files[i], times, 0), 0);
	}
	assert_int_equal(hk_table_file_store(directory, build_id, ID_BYTES, table), 0);
	assert_int_equal(faccessat(directory, "older", F_OK, 0), -1);
	assert_int_equal(faccessat(directory, "old", F_OK, 0), 0);
	assert_int_equal(faccessat(directory, "used", F_OK, 0), 0);
	hk_symbol_table_free(table);
	close(directory);
}

static void test_directories_of_others_are_refused(void **state)
{
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/hooktrace/symbols", base);
	close(hk_table_files_open());
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(hk_table_files_open(), -EPERM);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(setenv("XDG_CACHE_HOME", "/proc/no/such", 1), 0);
	assert_true(hk_table_files_open() < 0);
	assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
	assert_int_equal(unsetenv("HOME"), 0);
	assert_int_equal(hk_table_files_open(), -ENOENT);
	assert_int_equal(setenv("XDG_CACHE_HOME", base, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_table_comes_back),
	    cmocka_unit_test(test_damaged_files_are_refused_and_removed),
	    cmocka_unit_test(test_old_files_make_room),
	    cmocka_unit_test(test_directories_of_others_are_refused),
	};
	return cmocka_run_group_tests(tests, make_base, remove_base);
}
