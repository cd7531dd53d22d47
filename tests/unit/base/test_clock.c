/* Ticks against CLOCK_MONOTONIC, and the calibration file with everything that may be wrong with
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static char directory[64];
static int dirfd;

static int make_directory(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/hk-test-clock-XXXXXX");
	assert_non_null(mkdtemp(directory));
	dirfd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd < 0 ? -1 : 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlinkat(dirfd, "clock", 0);
	unlinkat(dirfd, "clock.new", 0);
	unlinkat(dirfd, "other", 0);
	close(dirfd);
	return rmdir(directory);
}

static void put(const char *text, size_t size)
{
	unlinkat(dirfd, "clock", 0);
	int fd = openat(dirfd, "clock", O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

static void test_points_lie_between_readings(void **state)
{
	(void)state;
	for (int tsc = 0; tsc <= hk_clock_tsc_trusted(); tsc++) {
		uint64_t ticks_before = hk_clock_ticks(tsc);
		uint64_t before_ns = hk_clock_monotonic_ns();
		struct hk_clock_point point = hk_clock_now(tsc);
		uint64_t after_ns = hk_clock_monotonic_ns();
		uint64_t ticks_after = hk_clock_ticks(tsc);
		struct timespec real;

		clock_gettime(CLOCK_REALTIME, &real);
		assert_in_range(point.monotonic_ns, before_ns, after_ns);
		assert_in_range(point.ticks, ticks_before, ticks_after);
		assert_in_range(point.realtime_ns / 1000000000u, (uint64_t)real.tv_sec - 2,
				(uint64_t)real.tv_sec);
		if (!tsc) {
			assert_int_equal(point.ticks, point.monotonic_ns);
		}
	}
}

static void test_calibration_converts_ticks_to_monotonic_time(void **state)
{
	(void)state;
	bool tsc = hk_clock_tsc_trusted();
	uint64_t q32 = hk_clock_calibrate_q32(tsc, 2000000);
	struct hk_clock_point start = hk_clock_now(tsc);
	hk_clock_calibrate_q32(true, 20000000);
	struct hk_clock_point end = hk_clock_now(tsc);
	uint64_t truth_ns = end.monotonic_ns - start.monotonic_ns;
	uint64_t ns = hk_clock_ticks_to_ns(end.ticks - start.ticks, q32);

	/* A wrong scale is off by a factor; 2 % leaves room for a host that stops us in a bracket.
	 */
	assert_in_range(ns, truth_ns - truth_ns / 50, truth_ns + truth_ns / 50);
	assert_int_equal(hk_clock_calibrate_q32(false, 1000000000000u), 1ull << 32);
	if (tsc) {
		/* The window is over: this one returns at once. */
		q32 = hk_clock_calibrate_since_q32(&start, truth_ns);
		ns = hk_clock_ticks_to_ns(end.ticks - start.ticks, q32);
		assert_in_range(ns, truth_ns - truth_ns / 50, truth_ns + truth_ns / 50);
	}
}

static void test_conversion_is_exact_beyond_64_bits(void **state)
{
	(void)state;
	assert_int_equal(hk_clock_ticks_to_ns(1ull << 60, 1ull << 31), 1ull << 59);
	assert_int_equal(hk_clock_ticks_to_ns(UINT64_MAX, 1ull << 32), UINT64_MAX);
}

static void test_stored_calibration_is_loaded(void **state)
{
	static const uint64_t values[] = {1ull << 28, 1431655765, 1ull << 32, 1000ull << 32};

	(void)state;
	assert_int_equal(hk_clock_load_q32(dirfd), 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_int_equal(hk_clock_store_q32(dirfd, values[i]), 0);
		assert_int_equal(hk_clock_load_q32(dirfd), values[i]);
	}
	assert_int_equal(faccessat(dirfd, "clock.new", F_OK, 0), -1);
}

static void test_damaged_calibration_is_none(void **state)
{
	char good[128];
	char bad[128];

	(void)state;
	assert_int_equal(hk_clock_store_q32(dirfd, 1431655765), 0);
	int fd = openat(dirfd, "clock", O_RDONLY);
	ssize_t size = read(fd, good, sizeof(good));
	close(fd);
	assert_int_equal(size, 36 + 1 + 10 + 1);
	for (ssize_t cut = 0; cut < size; cut++) {
		put(good, (size_t)cut);
		assert_int_equal(hk_clock_load_q32(dirfd), 0);
	}
	for (ssize_t at = 0; at < size; at++) {
		memcpy(bad, good, (size_t)size);
		bad[at] = 'x';
		put(bad, (size_t)size);
		assert_int_equal(hk_clock_load_q32(dirfd), 0);
	}
	put(good, (size_t)size);
	assert_int_equal(hk_clock_load_q32(dirfd), 1431655765);
	/* Out of range, and out of 64 bits. */
	int length = snprintf(bad, sizeof(bad), "%.36s 0\n", good);
	put(bad, (size_t)length);
	assert_int_equal(hk_clock_load_q32(dirfd), 0);
	length = snprintf(bad, sizeof(bad), "%.36s 18446744073709551616268435456\n", good);
	put(bad, (size_t)length);
	assert_int_equal(hk_clock_load_q32(dirfd), 0);
}

static void test_links_and_pipes_are_not_followed(void **state)
{
	(void)state;
	assert_int_equal(hk_clock_store_q32(dirfd, 1ull << 31), 0);
	assert_int_equal(renameat(dirfd, "clock", dirfd, "other"), 0);
	assert_int_equal(symlinkat("other", dirfd, "clock"), 0);
	assert_int_equal(hk_clock_load_q32(dirfd), 0);
	/* A link in the way of the new file is replaced, not written through. */
	assert_int_equal(symlinkat("other", dirfd, "clock.new"), 0);
	assert_int_equal(hk_clock_store_q32(dirfd, 1ull << 32), 0);
	assert_int_equal(hk_clock_load_q32(dirfd), 1ull << 32);
	unlinkat(dirfd, "clock", 0);
	assert_int_equal(renameat(dirfd, "other", dirfd, "clock"), 0);
	assert_int_equal(hk_clock_load_q32(dirfd), 1ull << 31);
	unlinkat(dirfd, "clock", 0);
	assert_int_equal(mkfifoat(dirfd, "clock", 0600), 0);
	assert_int_equal(hk_clock_load_q32(dirfd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_points_lie_between_readings),
	    cmocka_unit_test(test_calibration_converts_ticks_to_monotonic_time),
	    cmocka_unit_test(test_conversion_is_exact_beyond_64_bits),
	    cmocka_unit_test_setup_teardown(test_stored_calibration_is_loaded, make_directory,
					    remove_directory),
	    cmocka_unit_test_setup_teardown(test_damaged_calibration_is_none, make_directory,
					    remove_directory),
	    cmocka_unit_test_setup_teardown(test_links_and_pipes_are_not_followed, make_directory,
					    remove_directory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
