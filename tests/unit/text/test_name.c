/* Names on their way to a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "text/name.h"

static void test_print_is_harmless(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
	    {"plain", "plain"},
	    {"esc\033[2J", "esc?[2J"},
	    {"a\nb\tc\x7f", "a?b?c?"},
	    {"caf\xc3\xa9", "caf\xc3\xa9"},
	    {"bad\xff\xc3", "bad??"},
	    {"over\xc0\xaflong", "over??long"},
	    {"c1\xc2\x9b"
	     "31m",
	     "c1?31m"},
	    {"rtl\xe2\x80\xae"
	     "txt",
	     "rtl?txt"},
	    {"12345678901234567890", "123456789012345~"},
	};
	char text[HK_NAME_BYTES(16)];
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		hk_name_print(text, 16, cases[i].in);
		assert_string_equal(text, cases[i].out);
	}
	assert_int_equal(hk_name_print(text, 16, "caf\xc3\xa9"), 4);
	assert_int_equal(hk_name_print_function(text, 16, "_ZN4gloo7barrierERNS_14BarrierOptionsE"),
			 13);
	assert_string_equal(text, "gloo::barrier");
	hk_name_print_function(text, 16, "MPI_Barrier\n");
	assert_string_equal(text, "MPI_Barrier?");
}

static void test_end_is_kept(void **state)
{
	char text[HK_NAME_BYTES(8)];
	(void)state;
	assert_int_equal(hk_name_print_end(text, 8, "/usr/lib/libx.so"), 8);
	assert_string_equal(text, "~libx.so");
	assert_int_equal(hk_name_print_end(text, 8, "short"), 5);
	hk_name_print_end(text, 4, "aaaa\xc3\xa9\xc3\xa9");
	assert_string_equal(text, "~\xc3\xa9");
}

static void test_every_byte_becomes_utf8(void **state)
{
	(void)state;
	for (unsigned a = 1; a < 256; a++) {
		for (unsigned b = 0; b < 256; b++) {
			const char name[] = {(char)a, (char)b, 0};
			char shown[HK_NAME_BYTES(4)], *utf8 = hk_name_utf8(name);
			assert_non_null(utf8);
			/* What is UTF-8 once stays as it is. */
			char *again = hk_name_utf8(utf8);
			assert_string_equal(again, utf8);
			hk_name_print(shown, 4, name);
			for (const char *at = shown; *at; at++) {
				assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
			}
			free(again);
			free(utf8);
		}
	}
}

static void test_base(void **state)
{
	(void)state;
	assert_string_equal(hk_name_base("/a/b.so"), "b.so");
	assert_string_equal(hk_name_base("b.so"), "b.so");
	assert_string_equal(hk_name_base("*"), "*");
	assert_string_equal(hk_name_base("/"), "/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_print_is_harmless),
	    cmocka_unit_test(test_end_is_kept),
	    cmocka_unit_test(test_every_byte_becomes_utf8),
	    cmocka_unit_test(test_base),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
