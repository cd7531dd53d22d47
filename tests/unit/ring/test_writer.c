/* When records leave a file system to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ring/writer.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static void test_small_file_system_keeps_its_last_quarter(void **state)
{
	(void)state;
	assert_false(hk_writer_crowds(64 * MIB, 64 * MIB, MIB));
	assert_false(hk_writer_crowds(17 * MIB, 64 * MIB, MIB));
	assert_true(hk_writer_crowds(17 * MIB - 1, 64 * MIB, MIB));
	assert_true(hk_writer_crowds(0, 64 * MIB, MIB));
	assert_true(hk_writer_crowds(0, 0, MIB));
}

/* A disk that is four fifths full, or whose owner keeps most of it for himself, has room enough. */
static void test_large_file_system_keeps_a_gibibyte(void **state)
{
	(void)state;
	assert_false(hk_writer_crowds(50 * GIB, 252 * GIB, MIB));
	assert_false(hk_writer_crowds(GIB + MIB, 252 * GIB, MIB));
	assert_true(hk_writer_crowds(GIB, 252 * GIB, MIB));
	assert_false(hk_writer_crowds(GIB + MIB, UINT64_MAX, MIB));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_small_file_system_keeps_its_last_quarter),
	    cmocka_unit_test(test_large_file_system_keeps_a_gibibyte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
