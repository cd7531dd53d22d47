/* cmocka.h: the part of cmocka's interface that the cross-built unit tests use; Debian has the
 * library itself only for the machine that builds. A failed assertion ends its test, not the
 * others.
 */
#ifndef HK_TESTS_CROSS_CMOCKA_H
#define HK_TESTS_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*test)(void **state);
	int (*setup)(void **state);
	int (*teardown)(void **state);
};

#define cmocka_unit_test(function)              \
	{                                       \
#function, function, NULL, NULL \
	}
#define cmocka_unit_test_setup_teardown(function, before, after) \
	{                                                        \
#function, function, before, after               \
	}

static jmp_buf cmocka_end_of_test;

static inline void cmocka_check(bool holds, const char *what, const char *file, int line)
{
	if (!holds) {
		fprintf(stderr, "%s:%d: %s\n", file, line, what);
		longjmp(cmocka_end_of_test, 1);
	}
}

static inline void cmocka_compare(uint64_t got, uint64_t wanted, const char *what, const char *file,
				  int line)
{
	if (got != wanted) {
		fprintf(stderr, "%#llx is not %#llx\n", (unsigned long long)got,
			(unsigned long long)wanted);
	}
	cmocka_check(got == wanted, what, file, line);
}

static inline void cmocka_compare_text(const char *got, const char *wanted, const char *what,
				       const char *file, int line)
{
	bool same = strcmp(got, wanted) == 0;
	if (!same) {
		fprintf(stderr, "\"%s\" is not \"%s\"\n", got, wanted);
	}
	cmocka_check(same, what, file, line);
}

#define CMOCKA_CHECK(holds, what) cmocka_check(holds, what, __FILE__, __LINE__)
#define CMOCKA_BITS(value) ((uint64_t)(value))
#define assert_true(value) CMOCKA_CHECK(!!(value), #value)
#define assert_false(value) CMOCKA_CHECK(!(value), "not " #value)
#define assert_null(value) CMOCKA_CHECK((value) == NULL, #value " is NULL")
#define assert_non_null(value) CMOCKA_CHECK((value) != NULL, #value " is not NULL")
#define assert_int_equal(a, b) \
	cmocka_compare(CMOCKA_BITS(a), CMOCKA_BITS(b), #a " == " #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) CMOCKA_CHECK(CMOCKA_BITS(a) != CMOCKA_BITS(b), #a " != " #b)
#define assert_ptr_equal(a, b) CMOCKA_CHECK((const void *)(a) == (const void *)(b), #a " == " #b)
#define assert_ptr_not_equal(a, b) \
	CMOCKA_CHECK((const void *)(a) != (const void *)(b), #a " != " #b)
#define assert_string_equal(a, b) cmocka_compare_text(a, b, #a " == " #b, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) CMOCKA_CHECK(memcmp(a, b, size) == 0, #a " == " #b)
#define assert_in_range(value, least, most)                       \
	CMOCKA_CHECK(CMOCKA_BITS(value) >= CMOCKA_BITS(least) &&  \
			 CMOCKA_BITS(value) <= CMOCKA_BITS(most), \
		     #value " in " #least ".." #most)
#define print_message(...) fprintf(stderr, __VA_ARGS__)
#define fail_msg(...)                          \
	do {                                   \
		print_message(__VA_ARGS__);    \
		CMOCKA_CHECK(false, "failed"); \
	} while (0)

static inline bool cmocka_run(const struct CMUnitTest *test)
{
	void *state = NULL;
	volatile bool passed = false;

	if (setjmp(cmocka_end_of_test) == 0) {
		CMOCKA_CHECK(!test->setup || test->setup(&state) == 0, "setup");
		test->test(&state);
		passed = true;
	}
	bool cleaned = !test->teardown || test->teardown(&state) == 0;
	printf("%s %s\n", passed && cleaned ? "ok" : "FAILED", test->name);
	return passed && cleaned;
}

static inline int cmocka_run_all(const struct CMUnitTest *tests, size_t count,
				 int (*setup)(void **state), int (*teardown)(void **state))
{
	void *state = NULL;
	int failures = setup && setup(&state) != 0;

	for (size_t i = 0; i < count && !failures; i++) {
		failures += !cmocka_run(&tests[i]);
	}
	failures += teardown && teardown(&state) != 0;
	return failures;
}

#define cmocka_run_group_tests(tests, setup, teardown) \
	cmocka_run_all(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

#endif
