/* Lines of launches, and of calls that name kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/language/parser.h"

static char memory[HK_HOOK_ARENA_BYTES];

static void ignore(void *context, const char *file, uint32_t line, const char *message)
{
	(void)context;
	(void)file;
	(void)line;
	(void)message;
}

static uint32_t parse(const char *text, struct hk_hook *ret_hook)
{
	struct hk_hook_arena arena;
	struct hk_hook_file file;
	struct hk_hooks_report report = {.bad_line = ignore};

	hk_hook_arena_init(&arena, memory, sizeof(memory));
	uint32_t bad = hk_hooks_parse(&arena, "x.hooks", text, strlen(text), &report, &file);
	if (bad == 0) {
		*ret_hook = file.hooks[0];
	}
	return bad;
}

static struct hk_hook parse_one(const char *text)
{
	struct hk_hook hook = {0};

	assert_int_equal(parse(text, &hook), 0);
	return hook;
}

static void assert_factor(const struct hk_hook *hook, unsigned value, unsigned factor,
			  struct hk_factor expected)
{
	assert_memory_equal(&hook->values[value].factors[factor], &expected, sizeof(expected));
}

static void launch_lines_have_their_factors(void **state)
{
	struct hk_hook hook =
	    parse_one("int f(ptr k, dim3 g, uint z, uint y, ptr config, ptr *new, str name) launch"
		      " kernel=kernel(k) grid=dim3(g) block=dim3(z,y,z) shared=z");
	struct hk_hook other =
	    parse_one("int f(ptr k, ptr config, ptr *new, str name, ptr module) kernel"
		      " kernel=got(new,module,name) grid=dim3(config,12) block=alias(new,k)"
		      " count=named(k,name) bytes=gone(module) shared=function(k)");

	(void)state;
	assert_int_equal(hook.meaning, HK_MEANING_LAUNCH);
	assert_factor(&hook, 0, 0, (struct hk_factor){.kind = HK_FACTOR_KERNEL, .arg = 0});
	assert_factor(&hook, 1, 0, (struct hk_factor){.kind = HK_FACTOR_DIM3_WORDS, .arg = 1});
	assert_factor(&hook, 2, 0,
		      (struct hk_factor){.kind = HK_FACTOR_DIM3, .arg = 2, .arg2 = 3, .arg3 = 2});
	assert_int_equal(other.meaning, HK_MEANING_KERNEL);
	assert_factor(
	    &other, 0, 0,
	    (struct hk_factor){.kind = HK_FACTOR_KERNEL_GOT, .arg = 2, .arg2 = 4, .arg3 = 3});
	assert_factor(&other, 1, 0,
		      (struct hk_factor){.kind = HK_FACTOR_DIM3_AT, .arg = 1, .constant = 12});
	assert_factor(&other, 2, 0,
		      (struct hk_factor){.kind = HK_FACTOR_KERNEL_ALIAS, .arg = 2, .arg2 = 0});
	assert_factor(&other, 3, 0,
		      (struct hk_factor){.kind = HK_FACTOR_KERNEL_NAMED, .arg = 0, .arg2 = 3});
	assert_factor(&other, 4, 0, (struct hk_factor){.kind = HK_FACTOR_KERNEL_GONE, .arg = 4});
	assert_factor(&other, 5, 0, (struct hk_factor){.kind = HK_FACTOR_KERNEL_DRIVER, .arg = 0});
}

static void wrong_types_are_refused(void **state)
{
	static const char *const lines[] = {
	    "int f(uint k) launch kernel=kernel(k)",
	    "int f(ptr *k) launch kernel=function(k)",
	    "int f(uint a, uint b) launch grid=dim3(a,b)",
	    "int f(ulong a) launch grid=dim3(a)",
	    "int f(dim3 *a) launch grid=dim3(a)",
	    "int f(dim3 a, dim3 b, dim3 c) launch grid=dim3(a,b,c)",
	    "int f(dim3 a) launch grid=a",
	    "int f(ptr h, ptr n) kernel kernel=named(h,n)",
	    "int f(ptr h, ptr k) kernel kernel=alias(h,k)",
	    "int f(ptr h, str n) kernel kernel=got(h,n)",
	    "int f(ulong m) kernel kernel=gone(m)",
	};
	struct hk_hook hook;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(parse(lines[i], &hook), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launch_lines_have_their_factors),
	    cmocka_unit_test(wrong_types_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
