/* Names of C++ and Rust as c++filt writes them, and names that are made to exhaust their readers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/demangle.h"

static void test_names_are_written_as_their_source_has_them(void **state)
{
	/* The right column is c++filt's, for Rust without hashes. */
	static const char *const names[][2] = {
	    {"_ZN6shapes3boxImE4callEi", "shapes::box<unsigned long>::call(int)"},
	    {"_ZNK6shapes3boxImEclEi.isra.0",
	     "shapes::box<unsigned long>::operator()(int) const [clone .isra.0]"},
	    {"_ZNSt6vectorIiSaIiEE9push_backERKi",
	     "std::vector<int, std::allocator<int> >::push_back(int const&)"},
	    {"_ZN3std2io5stdio6_print17h0123456789abcdefE", "std::io::stdio::_print"},
	    {"_RNvC6_123foo3bar", "123foo::bar"},
	    {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(hk_demangle(names[i][0], text, sizeof(text)));
		assert_string_equal(text, names[i][1]);
	}
}

static void test_parameters_and_results_are_left_out(void **state)
{
	char text[256];

	(void)state;
	assert_true(hk_demangle_short("_ZN6shapes5scaleIfEEvPT_S1_", text, sizeof(text)));
	assert_string_equal(text, "shapes::scale<float>");
	assert_true(hk_demangle_short("_RNvC6_123foo3bar", text, sizeof(text)));
	assert_string_equal(text, "123foo::bar");
	assert_false(hk_demangle_short("main", text, sizeof(text)));
	assert_string_equal(text, "main");
}

static void test_other_names_stay(void **state)
{
	static const char *const names[] = {"",	     "main", "_",      "_Z",
					    "_ZZZZ", "_R",   "_start", "Z3foov"};
	char text[16];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(hk_demangle(names[i], text, sizeof(text)));
		assert_string_equal(text, names[i]);
	}
	assert_false(hk_demangle("a_name_that_is_longer_than_its_room", text, sizeof(text)));
	assert_string_equal(text, "a_name_that_is_");
	assert_true(hk_demangle("_ZN6shapes3boxImE4callEi", text, sizeof(text)));
	assert_string_equal(text, "shapes::box<uns");
	assert_true(hk_demangle("_Z1fv", text, 1));
	assert_string_equal(text, "");
}

/* Each argument is twice the one before: 2^60 times "int" in a few hundred bytes. */
static void test_doubling_names_end(void **state)
{
	char name[1024] = "_Z1fI1aI";
	static char text[8192];
	size_t used = strlen(name);

	(void)state;
	used += (size_t)snprintf(name + used, sizeof(name) - used, "iiE");
	for (int i = 0; i < 36; i++) {
		char place[8] = "S0_";
		place[1] = (char)(i < 10 ? '0' + i : 'A' + i - 10);
		used +=
		    (size_t)snprintf(name + used, sizeof(name) - used, "1bI%s%sE", place, place);
	}
	snprintf(name + used, sizeof(name) - used, "Evv");
	hk_demangle(name, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
}

/* As deep as it is long. */
static void test_deep_names_end(void **state)
{
	static char name[HK_DEMANGLE_NAME_BYTES + 2], text[4096];
	static const char *const levels[] = {"P", "F", "K", "N1a", "I", "1aI", "L_", "DpT_", "M"};

	(void)state;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		for (size_t length = 200; length < sizeof(name); length += 499) {
			size_t used = (size_t)snprintf(name, sizeof(name), "_Z1f");
			while (used + strlen(levels[i]) < length) {
				used += (size_t)snprintf(name + used, sizeof(name) - used, "%s",
							 levels[i]);
			}
			snprintf(name + used, sizeof(name) - used, "i");
			hk_demangle(name, text, sizeof(text));
			assert_true(strlen(text) > 0);
		}
	}
}

/* Kernels have names of several thousand bytes. */
static void test_long_names_are_demangled(void **state)
{
	static char name[HK_DEMANGLE_NAME_BYTES], text[16384];
	size_t used = (size_t)snprintf(name, sizeof(name), "_ZN");

	(void)state;
	while (used < 4600) {
		used += (size_t)snprintf(name + used, sizeof(name) - used, "10namespaces");
	}
	snprintf(name + used, sizeof(name) - used, "1fEv");
	assert_true(hk_demangle(name, text, sizeof(text)));
	assert_int_equal(strncmp(text, "namespaces::namespaces::", 24), 0);
	assert_string_equal(text + strlen(text) - 4, ":f()");
	assert_true(hk_demangle_short(name, text, sizeof(text)));
	assert_string_equal(text + strlen(text) - 2, ":f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names_are_written_as_their_source_has_them),
	    cmocka_unit_test(test_parameters_and_results_are_left_out),
	    cmocka_unit_test(test_other_names_stay),
	    cmocka_unit_test(test_doubling_names_end),
	    cmocka_unit_test(test_deep_names_end),
	    cmocka_unit_test(test_long_names_are_demangled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
