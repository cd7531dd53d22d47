/* Planned values of a launch, from words of a call that are known; x86-64's places of arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/frame/launch.h"
#include "agent/runtime/launch_values.h"
#include "hooks/language/parser.h"

static char memory[HK_HOOK_ARENA_BYTES];

static void ignore(void *context, const char *file, uint32_t line, const char *message)
{
	(void)context;
	(void)file;
	(void)line;
	(void)message;
}

static struct hk_hook parse(const char *text)
{
	struct hk_hooks_report report = {.bad_line = ignore};
	struct hk_hook_arena arena;
	struct hk_hook_file file;

	hk_hook_arena_init(&arena, memory, sizeof(memory));
	assert_int_equal(hk_hooks_parse(&arena, "x.hooks", text, strlen(text), &report, &file), 0);
	struct hk_hook hook = file.hooks[0];
	hook.flags |= HK_HOOK_TRUSTED;
	return hook;
}

#if defined(__x86_64__)
static struct hk_call *call_of(const uint64_t *integer, const uint64_t *stack, size_t stacked)
{
	struct hk_call *call = calloc(1, sizeof(*call) + 16 * sizeof(uint64_t));

	memcpy(call->integer, integer, sizeof(call->integer));
	memcpy(call->stack, stack, stacked * sizeof(uint64_t));
	return call;
}

static void expect_values(const struct hk_hook *hook, struct hk_call *call,
			  const uint64_t wanted[HK_LAUNCH_VALUES])
{
	struct hk_launch_words launch;
	uint64_t values[HK_LAUNCH_VALUES];

	assert_true(hk_launch_plan(hook, &launch));
	/* The kernel has no number here. */
	assert_false(hk_launch_values(call, &launch, false, values));
	assert_int_equal(values[HK_LAUNCH_KERNEL], 0);
	/* A part of a launch has none of its own. */
	assert_true(hk_launch_values(call, &launch, true, values));
	assert_int_equal(values[HK_LAUNCH_KERNEL], 0);
	for (unsigned i = HK_LAUNCH_GRID; i < HK_LAUNCH_VALUES; i++) {
		assert_int_equal(values[i], wanted[i]);
	}
	free(call);
}

static uint64_t dim(uint64_t x, uint64_t y, uint64_t z)
{
	return x | y << 32 | z << 48;
}

/* Upper halves of 32-bit arguments may hold anything. */
#define JUNK 0xdeadbeef00000000ull

static void arguments_of_the_runtime(void **state)
{
	struct hk_hook hook = parse(
	    "int f(ptr func, dim3 grid, dim3 block, ptr args, ulong shared, ptr stream) launch"
	    " error=nonzero kernel=kernel(func) grid=dim3(grid) block=dim3(block)"
	    " shared=shared stream=stream");
	const uint64_t integer[6] = {
	    7, 0x7fffffffull | 65535ull << 32, JUNK | 3, 1024 | 2ull << 32, JUNK | 64, 9};
	const uint64_t stack[2] = {1ull << 33, 0x5555};

	(void)state;
	expect_values(
	    &hook, call_of(integer, stack, 2),
	    (uint64_t[]){0, dim(0x7fffffff, 65535, 3), dim(1024, 2, 64), 1ull << 33, 0x5555});
}

/* A dim3 that finds one register left is on the stack, and the next word takes the register. */
static void dim3_on_the_stack(void **state)
{
	struct hk_hook hook =
	    parse("int f(ptr func, dim3 grid, ptr a, ptr b, dim3 block, ptr stream, ulong shared)"
		  " launch error=nonzero kernel=kernel(func) grid=dim3(grid) block=dim3(block)"
		  " shared=shared stream=stream");
	const uint64_t integer[6] = {7, 1 | 2ull << 32, JUNK | 3, 8, 9, 0x5555};
	const uint64_t stack[3] = {4 | 5ull << 32, JUNK | 6, 77};

	(void)state;
	expect_values(&hook, call_of(integer, stack, 3),
		      (uint64_t[]){0, dim(1, 2, 3), dim(4, 5, 6), 77, 0x5555});
}

static void arguments_of_the_driver(void **state)
{
	struct hk_hook hook =
	    parse("int f(ptr f, uint gx, uint gy, uint gz, uint bx, uint by, uint bz, uint shared,"
		  " ptr stream, ptr params, ptr extra) launch error=nonzero kernel=function(f)"
		  " grid=dim3(gx,gy,gz) block=dim3(bx,by,bz) shared=shared stream=stream");
	const uint64_t integer[6] = {7, JUNK | 11, JUNK | 12, JUNK | 13, JUNK | 14, JUNK | 15};
	const uint64_t stack[3] = {JUNK | 16, JUNK | 17, 0x6666};

	(void)state;
	expect_values(&hook, call_of(integer, stack, 3),
		      (uint64_t[]){0, dim(11, 12, 13), dim(14, 15, 16), 17, 0x6666});
}

static void struct_of_a_launch(void **state)
{
	const struct {
		uint32_t sizes[6];
		uint64_t shared, stream;
	} config = {{1, 2, 3, 4, 5, 6}, 7 | 1ull << 40, 0x7777};
	static const char *const shared[] = {"word", "int"};
	const uint64_t integer[6] = {(uint64_t)&config, 7};
	char line[256];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(line, sizeof(line),
			 "int f(ptr config, ptr f) launch error=nonzero kernel=kernel(f)"
			 " grid=dim3(config,0) block=dim3(config,12) shared=%s(config,24)"
			 " stream=word(config,32)",
			 shared[i]);
		struct hk_hook hook = parse(line);
		expect_values(&hook, call_of(integer, integer, 0),
			      (uint64_t[]){0, dim(1, 2, 3), dim(4, 5, 6),
					   i == 0 ? config.shared : 7, 0x7777});
	}
}
#endif

static void other_lines_have_no_plan(void **state)
{
	static const char *const lines[] = {
	    "int f(ptr k, ptr s) launch error=nonzero kernel=kernel(k) stream=s",
	    "int f(ptr k, dim3 a, ulong b, ptr s) launch error=nonzero grid=dim3(a)"
	    " kernel=kernel(k) block=dim3(a) shared=b stream=s",
	    "int f(ptr k, dim3 a, ulong b, ptr s) error=nonzero kernel=kernel(k) grid=dim3(a)"
	    " block=dim3(a) shared=b stream=s",
	    "int f(ptr k, dim3 a, ulong b, ptr s) launch kernel=kernel(k) grid=dim3(a)"
	    " block=dim3(a) shared=b stream=s",
	    "int f(ptr c, ptr d, ptr k) launch error=nonzero kernel=kernel(k) grid=dim3(c,0)"
	    " block=dim3(d,0) shared=word(c,24) stream=word(c,32)",
	};
	struct hk_launch_words launch;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct hk_hook hook = parse(lines[i]);
		assert_false(hk_launch_plan(&hook, &launch));
	}
	struct hk_hook users =
	    parse("int f(ptr c, ptr k) launch error=nonzero kernel=kernel(k) grid=dim3(c,0)"
		  " block=dim3(c,12) shared=word(c,24) stream=word(c,32)");
	assert_true(hk_launch_plan(&users, &launch));
	users.flags &= (uint16_t)~HK_HOOK_TRUSTED; /* its address must be checked */
	assert_false(hk_launch_plan(&users, &launch));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(arguments_of_the_runtime),
		cmocka_unit_test(dim3_on_the_stack),
		cmocka_unit_test(arguments_of_the_driver),
		cmocka_unit_test(struct_of_a_launch),
#endif
		cmocka_unit_test(other_lines_have_no_plan),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
