/* Expressions over communicators and arrays: what they become, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/language/parser.h"

static char memory[HK_HOOK_ARENA_BYTES];
static char problem[160];

static void hear(void *context, const char *file, uint32_t line, const char *message)
{
	(void)context;
	(void)file;
	(void)line;
	snprintf(problem, sizeof(problem), "%s", message);
}

static struct hk_hook_file parse(const char *text)
{
	struct hk_hooks_report report = {.bad_line = hear};
	struct hk_hook_arena arena;
	struct hk_hook_file file;

	problem[0] = '\0';
	hk_hook_arena_init(&arena, memory, sizeof(memory));
	hk_hooks_parse(&arena, "x.hooks", text, strlen(text), &report, &file);
	return file;
}

static struct hk_hook parse_one(const char *text)
{
	struct hk_hook_file file = parse(text);

	assert_string_equal(problem, "");
	assert_int_equal(file.hook_count, 1);
	return file.hooks[0];
}

static void assert_factor(const struct hk_hook *hook, unsigned value, unsigned factor,
			  struct hk_factor expected)
{
	const struct hk_factor *got = &hook->values[value].factors[factor];

	assert_int_equal(got->kind, expected.kind);
	assert_int_equal(got->arg, expected.arg);
	assert_int_equal(got->arg2, expected.arg2);
	assert_int_equal(got->arg3, expected.arg3);
	assert_int_equal(got->constant, expected.constant);
}

static void test_nccl_factors(void **state)
{
	struct hk_hook hook = parse_one(
	    "int f(nccl_comm *nc, nccl_comm c, struct(128) id, int root, nccl_datatype t)"
	    " bytes=root*sizeof(t)*ranks(c)*isroot(root,c) comm=comm(c) newcomm=newcomm(nc,id)"
	    " count=newcomm(nc,root) tag=newcomm(nc,c,root)");

	(void)state;
	assert_int_equal(hook.args[0].reference, 1);
	assert_int_equal(hook.args[2].type, HK_TYPE_STRUCT);
	assert_int_equal(hook.args[2].words, 16);
	assert_factor(&hook, 0, 0,
		      (struct hk_factor){.kind = HK_FACTOR_NCCL_IS_ROOT, .arg = 3, .arg2 = 1});
	assert_factor(&hook, 0, 2, (struct hk_factor){.kind = HK_FACTOR_NCCL_SIZE, .arg = 4});
	assert_factor(&hook, 0, 3, (struct hk_factor){.kind = HK_FACTOR_NCCL_RANKS, .arg = 1});
	assert_factor(&hook, 1, 0, (struct hk_factor){.kind = HK_FACTOR_NCCL_COMM, .arg = 1});
	assert_factor(&hook, 2, 0,
		      (struct hk_factor){.kind = HK_FACTOR_NCCL_NEW_COMM, .arg = 0, .arg2 = 2});
	assert_factor(&hook, 3, 0,
		      (struct hk_factor){.kind = HK_FACTOR_NCCL_NEW_COMMS, .arg = 0, .arg2 = 3});
	assert_factor(
	    &hook, 4, 0,
	    (struct hk_factor){.kind = HK_FACTOR_NCCL_SPLIT, .arg = 0, .arg2 = 1, .arg3 = 3});
}

static void test_sums_of_arrays(void **state)
{
	struct hk_hook hook =
	    parse_one("int f(dim3 d, ptr a, ulong n, nccl_comm c, long *p, text name, uint u)"
		      " bytes=sum(a,n) size=sum(a,c) count=extents(a,u,112,80) tag=*p");

	(void)state;
	assert_int_equal(hook.args[0].type, HK_TYPE_DIM3);
	assert_int_equal(hook.args[0].words, 2);
	assert_int_equal(hook.args[5].type, HK_TYPE_TEXT);
	assert_factor(&hook, 0, 0,
		      (struct hk_factor){.kind = HK_FACTOR_SUM_WORDS, .arg = 1, .arg2 = 2});
	assert_factor(&hook, 1, 0,
		      (struct hk_factor){.kind = HK_FACTOR_NCCL_SUM, .arg = 1, .arg2 = 3});
	assert_factor(
	    &hook, 2, 0,
	    (struct hk_factor){
		.kind = HK_FACTOR_EXTENTS, .arg = 1, .arg2 = 6, .constant = 112 | 80u << 16});
	assert_factor(&hook, 3, 0, (struct hk_factor){.kind = HK_FACTOR_POINTEE, .arg = 4});
}

static void test_operands_that_do_not_fit(void **state)
{
	static const char *const cases[][2] = {
	    {"int f(ptr p, double n) bytes=sum(p,n)", "argument of the wrong type: 'n'"},
	    {"int f(ptr p, int n) bytes=extents(p,n,8)", "wrong number of arguments for 'extents'"},
	    {"int f(ptr p, int n) bytes=extents(p,n,8,65536)", "not a number below 65536: '65536'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char wanted[128];

		snprintf(wanted, sizeof(wanted), "%s (line ignored)", cases[i][1]);
		assert_int_equal(parse(cases[i][0]).hook_count, 0);
		assert_string_equal(problem, wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nccl_factors),
	    cmocka_unit_test(test_sums_of_arrays),
	    cmocka_unit_test(test_operands_that_do_not_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
