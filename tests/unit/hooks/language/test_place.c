/* Placement against what the calling convention says (System V x86-64, AAPCS64), written down by
 * hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>

#include "hooks/language/place.h"

/* i: integer, p: pointer, d: double, f: float, D: address of a double, S: struct of 16 words,
 * 3: dim3.
 * Places: r0..r7, x0..x7, s0... */
static const struct {
	const char *signature;
	const char *places;
	unsigned hidden;
	unsigned stack_words;
} cases[] = {
#if defined(__aarch64__)
    {"", "", 0, 0},
    {"ppp", "r0 r1 r2", 0, 0},
    {"pppppp", "r0 r1 r2 r3 r4 r5", 2, 0},
    {"pppppp", "r0 r1 r2 r3 r4 r5", 4, 2},
    {"pppppppppp", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1", 0, 2},
    {"idif", "r0 x0 r1 x1", 0, 0},
    {"DdDd", "r0 x0 r1 x1", 0, 0},
    {"dddddddddf", "x0 x1 x2 x3 x4 x5 x6 x7 s0 s1", 0, 2},
    {"iiiiiiiidi", "r0 r1 r2 r3 r4 r5 r6 r7 x0 s0", 0, 1},
    {"iiiiiiiiiddddddddddi", "r0 r1 r2 r3 r4 r5 r6 r7 s0 x0 x1 x2 x3 x4 x5 x6 x7 s1 s2 s3", 1, 5},
    {"iiiiiiiiiiiiiiiiiiii", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11", 40,
     52},
    {"", "", 300, 255},
    {"piSi", "r0 r1 r2 r3", 0, 0},
    {"SpppppppS", "r0 r1 r2 r3 r4 r5 r6 r7 s0", 0, 1},
    {"p33ppp", "r0 r1 r3 r5 r6 r7", 0, 0},
    {"p33p3i3", "r0 r1 r3 r5 r6 s0 s1", 0, 3},
    {"p33pp3i3", "r0 r1 r3 r5 r6 s0 s2 s3", 0, 5},
#else
    {"", "", 0, 0},
    {"ppp", "r0 r1 r2", 0, 0},
    {"pppppp", "r0 r1 r2 r3 r4 r5", 0, 0},
    {"pppppp", "r0 r1 r2 r3 r4 r5", 2, 2},
    {"ppppp", "r0 r1 r2 r3 r4", 2, 1},
    {"ppp", "r0 r1 r2", 3, 0},
    {"pppppppp", "r0 r1 r2 r3 r4 r5 s0 s1", 0, 2},
    {"idif", "r0 x0 r1 x1", 0, 0},
    {"DdDd", "r0 x0 r1 x1", 0, 0},
    {"dddddddddf", "x0 x1 x2 x3 x4 x5 x6 x7 s0 s1", 0, 2},
    {"iiiiiidi", "r0 r1 r2 r3 r4 r5 x0 s0", 0, 1},
    {"iiiiiiiddddddddddi", "r0 r1 r2 r3 r4 r5 s0 x0 x1 x2 x3 x4 x5 x6 x7 s1 s2 s3", 1, 5},
    {"iiiiiiiiiiiiiiiiiiii", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 s12 s13", 40,
     54},
    {"", "", 300, 255},
    {"piSi", "r0 r1 s0 r2", 0, 16},
    {"SpppppppS", "s0 r0 r1 r2 r3 r4 r5 s16 s17", 0, 33},
    {"p33ppp", "r0 r1 r3 r5 s0 s1", 0, 2},
    {"p333i3", "r0 r1 r3 s0 r5 s2", 0, 4},
    {"3d3fS3", "r0 x0 r2 x1 s0 r4", 0, 16},
#endif
};

static void set_argument(struct hk_hook_arg *arg, char letter)
{
	*arg = (struct hk_hook_arg){.name = "x", .place = 99, .index = 99};
	arg->type = letter == 'i'   ? HK_TYPE_INT
		    : letter == 'p' ? HK_TYPE_PTR
		    : letter == 'f' ? HK_TYPE_FLOAT
		    : letter == 'S' ? HK_TYPE_STRUCT
		    : letter == '3' ? HK_TYPE_DIM3
				    : HK_TYPE_DOUBLE;
	arg->words = letter == 'S' ? 16 : letter == '3' ? 2 : 0;
	arg->reference = letter == 'D';
}

static void append_place(char *text, size_t size, const struct hk_hook_arg *arg)
{
	size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%c%u", length != 0 ? " " : "", "rxs"[arg->place],
		 arg -> index);
}

static void test_places_follow_the_calling_convention(void **state)
{
	(void)state;
	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct hk_hook hook = {.stack_words = 77};
		char places[256] = "";

		hook.arg_count = (uint8_t)strlen(cases[c].signature);
		for (unsigned i = 0; i < hook.arg_count; i++) {
			set_argument(&hook.args[i], cases[c].signature[i]);
		}
		int placed = hk_locate_arguments(&hook, cases[c].hidden);
		for (unsigned i = 0; i < hook.arg_count; i++) {
			assert_in_range(hook.args[i].place, 0, 2);
			append_place(places, sizeof(places), &hook.args[i]);
		}
		assert_string_equal(places, cases[c].places);
		assert_int_equal(hook.stack_words, cases[c].stack_words);
		bool cut = cases[c].stack_words == HK_HOOK_STACK_MOST;
		assert_int_equal(placed, cut ? -E2BIG : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_places_follow_the_calling_convention),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
