/* Names of generated code: lines of all kinds, and files that are not the process's. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

#include "collector/symbol/perf_map.h"

#define PID 77u
#define HOUR_NS UINT64_C(3600000000000)
#define ADDRESSES 6

static char root[64];

static int make_root(void **state)
{
	char path[96];

	(void)state;
	snprintf(root, sizeof(root), "/tmp/hk-map-XXXXXX");
	snprintf(path, sizeof(path), "%s/tmp", mkdtemp(root));
	return mkdir(path, 0700);
}

static int remove_root(void **state)
{
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/tmp/perf-%u.map", root, PID);
	unlink(path);
	snprintf(path, sizeof(path), "%s/tmp", root);
	rmdir(path);
	return rmdir(root);
}

static void write_map(const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/tmp/perf-%u.map", root, PID);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void find(const char *text, const uint64_t addresses[ADDRESSES],
		 struct hk_perf_map_name names[ADDRESSES])
{
	FILE *map;

	write_map(text);
	assert_int_equal(hk_perf_map_open(root, PID, 1, &map), 0);
	hk_perf_map_find(map, addresses, ADDRESSES, names);
	fclose(map);
}

/* A file that is nothing but a size takes hours to be read. */
static void test_bytes_that_are_no_text_end_the_map(void **state)
{
	static const uint64_t addresses[ADDRESSES] = {0x10, 0x20, 0x30, 0x40, 0x50, 0x60};
	struct hk_perf_map_name names[ADDRESSES];
	char path[96];
	FILE *map;

	(void)state;
	write_map("10 10 one\n");
	snprintf(path, sizeof(path), "%s/tmp/perf-%u.map", root, PID);
	assert_int_equal(truncate(path, (off_t)1 << 40), 0);
	assert_int_equal(hk_perf_map_open(root, PID, 1, &map), 0);
	hk_perf_map_find(map, addresses, ADDRESSES, names);
	fclose(map);
	assert_string_equal(names[0].text, "one");
	assert_string_equal(names[1].text, "");
}

static void test_lines_name_their_addresses(void **state)
{
	static const uint64_t addresses[ADDRESSES] = {0x0f, 0x10, 0x1f, 0x20, 0x20, UINT64_MAX};
	struct hk_perf_map_name names[ADDRESSES];

	(void)state;
	find("10 10 one\n0x20 A two of it\nffffffffffffffff 1 last\n", addresses, names);
	assert_string_equal(names[0].text, "");
	assert_string_equal(names[1].text, "one");
	assert_string_equal(names[2].text, "one");
	assert_string_equal(names[3].text, "two of it");
	assert_string_equal(names[4].text, "two of it");
	assert_string_equal(names[5].text, "last");
	/* Code is replaced, and the last line may be unfinished. */
	find("10 10 one\n10 8 other\n20 10 unfin", addresses, names);
	assert_string_equal(names[1].text, "other");
	assert_string_equal(names[2].text, "one");
	assert_string_equal(names[3].text, "");
}

static void test_other_lines_are_left_out(void **state)
{
	static const uint64_t addresses[ADDRESSES] = {0, 0x10, 0x11, 0x12, 0x13, 0x14};
	struct hk_perf_map_name names[ADDRESSES];
	static char text[5000];

	(void)state;
	find("\n \n10\n10 \n10 1\n10 1 \ng0 10 name\n 10 1 name\n10 x name\n-10 ffff name\n"
	     "00000000000000010 1 name\n10 0 name\n",
	     addresses, names);
	for (int i = 0; i < ADDRESSES; i++) {
		assert_string_equal(names[i].text, "");
	}
	/* A long name is cut, and what follows in its line is no line. */
	size_t used = (size_t)snprintf(text, sizeof(text), "10 1 ");
	memset(text + used, 'n', 2000);
	snprintf(text + used + 2000, sizeof(text) - used - 2000, "11 1 inside\n12 1 behind\n");
	find(text, addresses, names);
	assert_int_equal(strlen(names[1].text), HK_PERF_MAP_NAME_BYTES - 1);
	assert_string_equal(names[2].text, "");
	assert_string_equal(names[3].text, "behind");
}

static void test_files_of_others_are_refused(void **state)
{
	char path[96];
	struct stat status;
	FILE *map;

	(void)state;
	assert_int_equal(hk_perf_map_open(root, PID + 1, 1, &map), -ENOENT);
	write_map("10 1 name\n");
	snprintf(path, sizeof(path), "%s/tmp/perf-%u.map", root, PID);
	assert_int_equal(stat(path, &status), 0);
	uint64_t written = (uint64_t)status.st_mtim.tv_sec * 1000000000;
	assert_int_equal(hk_perf_map_open(root, PID, written, &map), 0);
	fclose(map);
	assert_int_equal(hk_perf_map_open(root, PID, written + HOUR_NS, &map), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(hk_perf_map_open(root, PID, 1, &map), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(hk_perf_map_open(root, PID, 1, &map), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines_name_their_addresses),
	    cmocka_unit_test(test_bytes_that_are_no_text_end_the_map),
	    cmocka_unit_test(test_other_lines_are_left_out),
	    cmocka_unit_test(test_files_of_others_are_refused),
	};
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
