#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/patch/known.h"

static struct hk_object object(uintptr_t base, const char *name)
{
	return (struct hk_object){
	    .base = base, .dynamic = (void *)(base + 64), .name = name, .extent = 512};
}

static void test_objects_are_found_again_by_place_and_path(void **state)
{
	(void)state;
	struct hk_knowns knowns = {0};
	char name[32];
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "lib%u.so", i);
		struct hk_object added = object(4096 * (i + 1), i ? name : "");
		struct hk_known *known = hk_known_get(&knowns, &added, "/bin/program", i);
		assert_non_null(known);
		known->slots_found = i;
	}
	assert_int_equal(knowns.count, 1000);
	memset(name, 0, sizeof(name)); /* the loader's own copy may vanish */
	struct hk_object program = object(4096, "");
	assert_string_equal(hk_known_get(&knowns, &program, "/bin/program", 0)->path,
			    "/bin/program");
	for (unsigned hint = 0; hint < 2000; hint += 500) {
		struct hk_object same = object(4096 * 778, "lib777.so");
		assert_int_equal(hk_known_get(&knowns, &same, "", hint)->slots_found, 777);
	}
	struct hk_object other = object(4096 * 778, "libnew.so");
	assert_int_equal(hk_known_get(&knowns, &other, "", 777)->slots_found, 0);
	assert_int_equal(knowns.count, 1001);
}

static unsigned gone_count;

static void note_gone(struct hk_span span)
{
	/* Those with an odd number. */
	assert_int_equal(span.start / 4096 % 2, 0);
	assert_int_equal(span.end, span.start + 512);
	gone_count++;
}

static void test_objects_that_are_gone_are_dropped_and_not_counted(void **state)
{
	(void)state;
	struct hk_knowns knowns = {0};
	for (unsigned i = 0; i < 10; i++) {
		struct hk_object added = object(4096 * (i + 1), "lib.so");
		struct hk_known *known = hk_known_get(&knowns, &added, "", i);
		known->slots_found = 3;
		known->slots_patched = 2;
		known->slots_refused[HK_REFUSED_DENIED] = 1;
		known->slots_refused[HK_REFUSED_THUNKS] = 2;
		known->done = i != 4;
		known->skipped = i == 6;
		known->seen = i % 2 == 0;
	}
	struct hk_coverage coverage = {.scans = 9};
	hk_known_sweep(&knowns, note_gone);
	assert_int_equal(gone_count, 5);
	hk_known_count(&knowns, &coverage);
	assert_int_equal(coverage.objects, 5);
	assert_int_equal(coverage.objects_pending, 1);
	/* Those of gone objects that had no room stay. */
	assert_int_equal(coverage.slots_refused[HK_REFUSED_THUNKS], 20);
	assert_int_equal(coverage.slots_found, 15 + 10);
	assert_int_equal(coverage.slots_patched, 10);
	assert_int_equal(coverage.slots_refused[HK_REFUSED_DENIED], 5);
	assert_int_equal(coverage.scans, 9);
	struct hk_object kept = object(4096 * 9, "lib.so");
	assert_int_equal(hk_known_get(&knowns, &kept, "", 0)->slots_found, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_objects_are_found_again_by_place_and_path),
	    cmocka_unit_test(test_objects_that_are_gone_are_dropped_and_not_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
