/* Signatures to text and back; a record's words to values and to what people read. The words are
 * written out by hand from the format's description. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/arguments.h"

static void test_signature_comes_back(void **state)
{
	static const struct hk_hook hook = {
	    .flags = HK_HOOK_DESCRIBED,
	    .result = HK_TYPE_DOUBLE,
	    .arg_count = 4,
	    .args = {{.name = "path", .type = HK_TYPE_STR},
		     {.name = "n", .type = HK_TYPE_UINT, .reference = 1},
		     {.name = "comm", .type = HK_TYPE_MPI_COMM},
		     {.name = "id", .type = HK_TYPE_STRUCT, .words = 16}},
	};
	char text[HK_SIGNATURE_BYTES];
	struct hk_signature signature;

	(void)state;
	const char *wanted = "double(str path, uint *n, comm comm, struct id)";
	assert_int_equal(hk_signature_write(&hook, text), strlen(wanted));
	assert_string_equal(text, wanted);
	assert_int_equal(hk_signature_read(text, &signature), 0);
	assert_int_equal(signature.count, 4);
	assert_int_equal(signature.result.type, HK_TYPE_DOUBLE);
	for (unsigned i = 0; i < 4; i++) {
		const struct hk_signature_part *part = &signature.arguments[i];
		assert_int_equal(part->type, hook.args[i].type);
		assert_int_equal(part->reference, hook.args[i].reference);
		assert_int_equal(part->name_bytes, strlen(hook.args[i].name));
		assert_memory_equal(part->name, hook.args[i].name, part->name_bytes);
	}
}

static void test_unknown_function_has_six_registers(void **state)
{
	static const struct hk_hook hook = {.symbol = "anything"};
	static const uint64_t words[8] = {0};
	char text[HK_SIGNATURE_BYTES], printed[64];
	struct hk_signature signature;
	struct hk_arguments got;

	(void)state;
	assert_true(hk_signature_write(&hook, text) > 0);
	assert_int_equal(hk_signature_read(text, &signature), 0);
	assert_int_equal(signature.count, 6);
	assert_memory_equal(signature.arguments[5].name, "arg5", 4);
	/* Whether 0 stands for an unknown pointer. */
	assert_int_equal(hk_arguments_read(&signature, words, 8, &got), 0);
	hk_argument_print(&got.list[0], printed, sizeof(printed));
	assert_string_equal(printed, "0x0");
	hk_argument_print(&got.result, printed, sizeof(printed));
	assert_string_equal(printed, "0x0");
}

static void test_too_long_a_signature_is_none(void **state)
{
	static char name[300];
	struct hk_hook hook = {.flags = HK_HOOK_DESCRIBED, .arg_count = 3};
	char text[HK_SIGNATURE_BYTES];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	for (unsigned i = 0; i < 3; i++) {
		hook.args[i] = (struct hk_hook_arg){.name = name, .type = HK_TYPE_INT};
	}
	assert_int_equal(hk_signature_write(&hook, text), 0);
	assert_string_equal(text, "");
}

static void test_bad_signatures_are_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "int",
	    "int(",
	    "int()x",
	    "float()) ",
	    "nothing()",
	    "int(int)",
	    "int(void a)",
	    "int(int a,",
	    "int(int a, )",
	    "int(int a b)",
	    "int(int  a)",
	    "int(int a int b)",
	};
	struct hk_signature signature;
	char many[512] = "int(", *at = many + 4;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(hk_signature_read(bad[i], &signature), -EINVAL);
	}
	for (unsigned i = 0; i <= HK_HOOK_ARGS; i++) {
		at += sprintf(at, "%sint a%u", i ? ", " : "", i);
	}
	strcpy(at, ")");
	assert_int_equal(hk_signature_read(many, &signature), -EINVAL);
}

static uint64_t bits(double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static uint64_t float_bits(float value)
{
	uint32_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static void expect(const struct hk_argument *argument, const char *wanted)
{
	char text[300];

	assert_int_equal(hk_argument_print(argument, text, sizeof(text)), strlen(wanted));
	assert_string_equal(text, wanted);
}

static void test_words_are_values(void **state)
{
	struct hk_signature signature;
	struct hk_arguments got;
	uint64_t words[16] = {
	    1u << 3 | 1u << 5,
	    (uint64_t)-7,
	    bits(2.5),
	    0,
	    0,
	    0xdead,
	    float_bits(-0.25f),
	    0,
	    ~0ULL,
	    0,
	};

	(void)state;
	assert_int_equal(
	    hk_signature_read("str(int a, double *b, str c, str bad, struct d, uint *e,"
			      " float f, ptr g, ulong h)",
			      &signature),
	    0);
	memcpy(&words[3],
	       "\x0b"
	       "hello\"\n\t\\\x01\xff",
	       12); /* two words */
	words[5] = 0xdead;
	words[6] = 0xbeef; /* the reference that could not be followed */
	words[7] = float_bits(-0.25f);
	words[8] = 0;
	words[9] = ~0ULL;
	memcpy(&words[10],
	       "\x83"
	       "cut\0\0\0",
	       8);
	assert_int_equal(hk_arguments_read(&signature, words, 11, &got), 0);
	assert_int_equal(got.count, 9);
	expect(&got.list[0], "-7");
	expect(&got.list[1], "2.5");
	expect(&got.list[2], "\"hello\\\"\\n\\t\\\\\\x01\\xff\"");
	expect(&got.list[3], "0xdead");
	expect(&got.list[4], "{...}");
	expect(&got.list[5], "0xbeef");
	expect(&got.list[6], "-0.25");
	expect(&got.list[7], "NULL");
	expect(&got.list[8], "18446744073709551615");
	expect(&got.result, "\"cut\"...");
	/* One word less, or none at all, and the record is damaged. */
	for (unsigned count = 0; count < 11; count++) {
		assert_int_equal(hk_arguments_read(&signature, words, count, &got), -EBADMSG);
	}
	assert_int_equal(hk_signature_read("ptr(comm a, datatype b)", &signature), 0);
	memset(words, 0, sizeof(words));
	words[2] = 0x1f;
	assert_int_equal(hk_arguments_read(&signature, words, 4, &got), 0);
	expect(&got.list[0], "0x0");
	expect(&got.list[1], "0x1f");
	expect(&got.result, "NULL");
	assert_int_equal(hk_signature_read("void()", &signature), 0);
	assert_int_equal(hk_arguments_read(&signature, words, 1, &got), 0);
	expect(&got.result, "");
}

static void test_shapes_and_long_texts(void **state)
{
	struct hk_signature signature;
	struct hk_arguments got;
	uint64_t words[32] = {0, 4096 | 2ULL << 32, 0xdead00000003, 5};

	(void)state;
	assert_int_equal(
	    hk_signature_read("text(dim3 grid, int n, text name, text no)", &signature), 0);
	words[0] = 1u << 3;
	((uint8_t *)&words[4])[0] = 70; /* 70 bytes: nine words */
	memset((uint8_t *)&words[4] + 2, 'k', 70);
	words[13] = 0xbad;
	((uint8_t *)&words[14])[0] = 3;
	((uint8_t *)&words[14])[1] = 0x80; /* cut */
	memcpy((uint8_t *)&words[14] + 2, "cut", 3);
	assert_int_equal(hk_arguments_read(&signature, words, 15, &got), 0);
	expect(&got.list[0], "4096,2,3");
	expect(&got.list[1], "5");
	assert_int_equal(got.list[2].text_bytes, 70);
	assert_memory_equal(got.list[2].text, (uint8_t *)&words[4] + 2, 70);
	assert_false(got.list[2].cut);
	expect(&got.list[3], "0xbad");
	expect(&got.result, "\"cut\"...");
	for (unsigned count = 0; count < 15; count++) {
		assert_int_equal(hk_arguments_read(&signature, words, count, &got), -EBADMSG);
	}
	((uint8_t *)&words[4])[1] = 1; /* more than any text has */
	assert_int_equal(hk_arguments_read(&signature, words, 32, &got), -EBADMSG);
}

static void test_doubles_have_six_digits(void **state)
{
	static const struct {
		double value;
		const char *text;
	} known[] = {
	    {0, "0"},
	    {-0.0, "-0"},
	    {1, "1"},
	    {-1.5, "-1.5"},
	    {100000, "100000"},
	    {999999.7, "1e+6"},
	    {1234567, "1.23457e+6"},
	    {0.0001, "0.0001"},
	    {0.00001, "1e-5"},
	    {0.1, "0.1"},
	    {1e300, "1e+300"},
	    {5e-324, "4.94066e-324"},
	    {1.0 / 0.0, "inf"},
	    {-1.0 / 0.0, "-inf"},
	    {3.14159265, "3.14159"},
	    {20, "20"},
	};
	char text[40], small[4];
	uint64_t seed = 7;

	(void)state;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		hk_argument_print_double(known[i].value, text, sizeof(text));
		assert_string_equal(text, known[i].text);
	}
	for (unsigned i = 0; i < 20000; i++) {
		double value;
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		memcpy(&value, &seed, sizeof(value));
		if (value != value || value - value != 0) {
			continue;
		}
		hk_argument_print_double(value, text, sizeof(text));
		double back = strtod(text, NULL), off = back - value;
		assert_true((off < 0 ? -off : off) <= (value < 0 ? -value : value) * 6e-6 + 1e-323);
	}
	assert_int_equal(hk_argument_print_double(-123.5, small, sizeof(small)), 3);
	assert_string_equal(small, "-12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_signature_comes_back),
	    cmocka_unit_test(test_unknown_function_has_six_registers),
	    cmocka_unit_test(test_too_long_a_signature_is_none),
	    cmocka_unit_test(test_bad_signatures_are_refused),
	    cmocka_unit_test(test_words_are_values),
	    cmocka_unit_test(test_shapes_and_long_texts),
	    cmocka_unit_test(test_doubles_have_six_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
