/* Free memory of the allocator goes back to the system, and tries that return nothing become rare.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "collector/server/resident.h"

#define MIB (UINT64_C(1) << 20)
#define SECOND UINT64_C(1000000000)
#define PIECES 65536
#define PIECE_BYTES 1024 /* below the size that has pages of its own */

static char *pieces[PIECES];

static void returns_what_is_free(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* their allocators keep what is freed */
#endif
	struct hk_resident resident = {0};
	uint64_t start = hk_resident_bytes();
	assert_true(start > 0);
	for (size_t i = 0; i < PIECES; i++) {
		pieces[i] = malloc(PIECE_BYTES);
		assert_non_null(pieces[i]);
		memset(pieces[i], 1, PIECE_BYTES);
	}
	/* The last piece stays, so the allocator cannot shorten its heap. */
	for (size_t i = 0; i < PIECES - 1; i++) {
		free(pieces[i]);
	}
	assert_true(hk_resident_bytes() > start + 48 * MIB);
	hk_resident_trim(&resident, SECOND);
	assert_true(hk_resident_bytes() < start + 16 * MIB);
	assert_int_equal(resident.next_ns, 3 * SECOND);
	free(pieces[PIECES - 1]);
}

static void tries_in_vain_become_rare(void **state)
{
	(void)state;
	struct hk_resident resident = {0};
	uint64_t tries = 0, before = 0;
	for (uint64_t second = 1; second <= 1000; second++) {
		hk_resident_trim(&resident, second * SECOND);
		tries += resident.next_ns != before;
		before = resident.next_ns;
	}
	/* 2, 4, 8, 16, then 32 s after the try before. */
	assert_int_equal(tries, 1 + 4 + (1000 - 31) / 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(returns_what_is_free),
	    cmocka_unit_test(tries_in_vain_become_rare),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
