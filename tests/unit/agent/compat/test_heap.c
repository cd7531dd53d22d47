/* Live and peak bytes against a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/compat/heap.h"

static uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 42;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % limit;
}

#define POINTERS 4000u

static void test_live_and_peak_bytes(void **state)
{
	static const char *const libraries[] = {"/a.so", "/b.so"};
	static uint64_t sizes[POINTERS];
	static uint32_t owners[POINTERS];
	uint64_t live[2] = {0}, peak[2] = {0};

	(void)state;
	assert_null(hk_compat_heap_remove(4096));
	for (unsigned round = 0; round < 200000; round++) {
		uint32_t i = random_below(POINTERS), owner = random_below(2);
		uint64_t pointer = 0x7f0000000000u + (uint64_t)i * 16;
		const struct hk_compat_account *account;
		if (sizes[i]) {
			account = hk_compat_heap_remove(pointer);
			live[owners[i]] -= sizes[i];
			sizes[i] = 0;
			owner = owners[i];
		} else {
			sizes[i] = random_below(1 << 20) + 1;
			owners[i] = owner;
			account = hk_compat_heap_add(pointer, sizes[i], libraries[owner], 0, 1);
			live[owner] += sizes[i];
			peak[owner] = live[owner] > peak[owner] ? live[owner] : peak[owner];
		}
		assert_non_null(account);
		assert_string_equal(account->library, libraries[owner]);
		assert_int_equal(account->live, live[owner]);
		assert_int_equal(account->peak, peak[owner]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_live_and_peak_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
