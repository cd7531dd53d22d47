/* The parser: what each line becomes, what a bad line says, and that it takes no other line with
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/language/parser.h"

static char memory[HK_HOOK_ARENA_BYTES];

struct heard {
	char text[8192]; /* one "file:line: message\n" after the other */
	unsigned count;
};

static void hear(void *context, const char *file, uint32_t line, const char *message)
{
	struct heard *heard = context;
	size_t length = strlen(heard->text);

	heard->count++;
	snprintf(heard->text + length, sizeof(heard->text) - length, "%s:%u: %s\n", file, line,
		 message);
}

static struct hk_hook_file parse(const char *text, struct heard *heard)
{
	struct hk_hooks_report report = {.bad_line = hear, .context = heard};
	struct hk_hook_arena arena;
	struct hk_hook_file file;

	*heard = (struct heard){.count = 0};
	hk_hook_arena_init(&arena, memory, sizeof(memory));
	uint32_t bad = hk_hooks_parse(&arena, "x.hooks", text, strlen(text), &report, &file);
	assert_int_equal(bad, heard->count);
	assert_int_equal(bad, file.bad_lines);
	assert_string_equal(file.name, "x.hooks");
	return file;
}

static struct hk_hook parse_one(const char *text)
{
	struct heard heard;
	struct hk_hook_file file = parse(text, &heard);

	assert_string_equal(heard.text, "");
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

static void test_a_described_line(void **state)
{
	struct hk_hook hook =
	    parse_one("\n# first\ndomain memory\n"
		      "ptr reallocarray(ptr ptr, ulong nmemb, ulong size) \\\n"
		      "  realloc old_pointer=ptr pointer=result size=nmemb*size \\\n"
		      "  short error=null auto=off level=record+args # why not\n");

	(void)state;
	assert_string_equal(hook.library, "*");
	assert_string_equal(hook.symbol, "reallocarray");
	assert_string_equal(hook.domain, "memory");
	assert_int_equal(hook.flags, HK_HOOK_SHORT | HK_HOOK_DESCRIBED | HK_HOOK_OPEN_FREE);
	assert_int_equal(hook.level, HK_LEVEL_ARGS);
	assert_int_equal(hook.auto_level, HK_LEVEL_OFF);
	assert_int_equal(hook.meaning, HK_MEANING_REALLOC);
	assert_int_equal(hook.error, HK_ERROR_NULL);
	assert_int_equal(hook.result, HK_TYPE_PTR);
	assert_int_equal(hook.line, 4);
	assert_int_equal(hook.stack_words, 0);
	assert_int_equal(hook.arg_count, 3);
	assert_string_equal(hook.args[1].name, "nmemb");
	assert_int_equal(hook.args[1].type, HK_TYPE_ULONG);
	assert_int_equal(hook.args[1].index, 1);
	assert_int_equal(hook.value_count, 3);
	assert_int_equal(hook.values[0].key, HK_KEY_OLD_POINTER);
	assert_factor(&hook, 0, 0, (struct hk_factor){.kind = HK_FACTOR_ARG, .arg = 0});
	assert_int_equal(hook.values[1].key, HK_KEY_POINTER);
	assert_factor(&hook, 1, 0, (struct hk_factor){.kind = HK_FACTOR_RESULT});
	assert_int_equal(hook.values[2].factor_count, 2);
	assert_factor(&hook, 2, 0, (struct hk_factor){.kind = HK_FACTOR_ARG, .arg = 1});
	assert_factor(&hook, 2, 1, (struct hk_factor){.kind = HK_FACTOR_ARG, .arg = 2});
}

static void test_flags_say_how_a_function_is_hooked(void **state)
{
	(void)state;
	assert_int_equal(parse_one("int f(int a) tables short\n").flags,
			 HK_HOOK_TABLES | HK_HOOK_SHORT | HK_HOOK_DESCRIBED);
	assert_true(parse_one("libx.so:x_* tables\n").flags & HK_HOOK_TABLES);
	assert_false(parse_one("libx.so:x_*\n").flags & HK_HOOK_TABLES);
}

static void test_every_factor(void **state)
{
	struct hk_hook hook = parse_one(
	    "int f(ptr *p, ptr counts, ptr types, datatype t, int root, comm c, comm *nc)"
	    " pointer=*p size=12*sizeof(t)*sum(counts,c)*isroot(root,c) bytes=sum(counts,types,c)"
	    " comm = comm( c ) newcomm=newcomm(nc,c) count=sent(counts) * 4294967295");

	(void)state;
	assert_int_equal(hook.value_count, 6);
	assert_int_equal(hook.args[0].reference, 1);
	assert_int_equal(hook.args[6].reference, 1);
	assert_factor(&hook, 0, 0, (struct hk_factor){.kind = HK_FACTOR_POINTEE, .arg = 0});
	assert_int_equal(hook.values[1].factor_count, 4);
	/* What tells whether the others count comes first. */
	assert_factor(&hook, 1, 0,
		      (struct hk_factor){.kind = HK_FACTOR_IS_ROOT, .arg = 4, .arg2 = 5});
	assert_factor(&hook, 1, 1, (struct hk_factor){.kind = HK_FACTOR_CONST, .constant = 12});
	assert_factor(&hook, 1, 2, (struct hk_factor){.kind = HK_FACTOR_TYPE_SIZE, .arg = 3});
	assert_factor(&hook, 1, 3, (struct hk_factor){.kind = HK_FACTOR_SUM, .arg = 1, .arg2 = 5});
	assert_factor(
	    &hook, 2, 0,
	    (struct hk_factor){.kind = HK_FACTOR_SUM_TYPED, .arg = 1, .arg2 = 5, .arg3 = 2});
	assert_factor(&hook, 3, 0, (struct hk_factor){.kind = HK_FACTOR_COMM, .arg = 5});
	assert_factor(&hook, 4, 0,
		      (struct hk_factor){.kind = HK_FACTOR_NEW_COMM, .arg = 6, .arg2 = 5});
	assert_factor(&hook, 5, 0, (struct hk_factor){.kind = HK_FACTOR_SENT, .arg = 1});
	assert_factor(&hook, 5, 1,
		      (struct hk_factor){.kind = HK_FACTOR_CONST, .constant = UINT32_MAX});
}

static void test_device_memory(void **state)
{
	struct hk_hook hook =
	    parse_one("default error=nonzero pending=600\n"
		      "int f(ptr *p, ulong size, ptr s, ptr copy) alloc pointer=*p size=size"
		      " kind=managed device=device(s) count=word(copy,112)*int(copy,12)"
		      " error=nonzero");

	(void)state;
	assert_int_equal(hook.flags, HK_HOOK_DESCRIBED | 2u << HK_HOOK_MEMORY_SHIFT);
	assert_int_equal(hk_hook_memory(hook.flags), HK_MEMORY_MANAGED);
	assert_int_equal(hook.pending, 600);
	assert_factor(&hook, 2, 0, (struct hk_factor){.kind = HK_FACTOR_STREAM_DEVICE, .arg = 2});
	assert_factor(&hook, 3, 0,
		      (struct hk_factor){.kind = HK_FACTOR_WORD, .arg = 3, .constant = 112});
	assert_factor(&hook, 3, 1,
		      (struct hk_factor){.kind = HK_FACTOR_INT, .arg = 3, .constant = 12});
	hook =
	    parse_one("int f(ptr *p, ulong n) alloc pointer=*p size=n kind=device device=current");
	assert_factor(&hook, 2, 0, (struct hk_factor){.kind = HK_FACTOR_DEVICE});
	hook = parse_one("int f(struct(24) extent) bytes=word(extent,16)");
	assert_factor(&hook, 0, 0, (struct hk_factor){.kind = HK_FACTOR_WORD, .constant = 16});
	hook = parse_one("int f(ptr p) free pointer=p kind=pinned");
	assert_int_equal(hk_hook_memory(hook.flags), HK_MEMORY_PINNED);
	assert_true((hook.flags & HK_HOOK_OPEN_FREE) != 0);
	hook = parse_one("int f(ptr p) free pointer=p kind=pinned kind=host");
	assert_int_equal(hk_hook_memory(hook.flags), HK_MEMORY_HOST);
}

static void test_also_adds_a_name(void **state)
{
	struct heard heard;
	struct hk_hook_file file =
	    parse("int f(int a, ulong n) also=_ptsz bytes=n\nint g()\n", &heard);

	(void)state;
	assert_int_equal(heard.count, 0);
	assert_int_equal(file.hook_count, 3);
	assert_string_equal(file.hooks[0].symbol, "f");
	assert_string_equal(file.hooks[1].symbol, "f_ptsz");
	assert_string_equal(file.hooks[2].symbol, "g");
	assert_string_equal(file.hooks[1].args[1].name, "n");
	assert_int_equal(file.hooks[1].values[0].key, HK_KEY_BYTES);
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

static void test_directives_hold_for_what_follows(void **state)
{
	struct heard heard;
	struct hk_hook_file file = parse("int a()\n"
					 "domain net\nlibrary libnet.so\n"
					 "default error=nonzero short auto=time level=count\n"
					 "int b()\n"
					 "int c() error=never auto=off\n"
					 "libz.so:inflate*\n"
					 "default auto=off\nlibrary *\n"
					 "void d()",
					 &heard);

	(void)state;
	assert_string_equal(heard.text, "");
	assert_int_equal(file.hook_count, 5);
	assert_string_equal(file.hooks[0].domain, "user");
	assert_int_equal(file.hooks[0].auto_level, HK_LEVEL_DEFAULT);
	assert_string_equal(file.hooks[1].domain, "net");
	assert_string_equal(file.hooks[1].library, "libnet.so");
	assert_int_equal(file.hooks[1].error, HK_ERROR_NONZERO);
	assert_int_equal(file.hooks[1].auto_level, HK_LEVEL_TIME);
	assert_int_equal(file.hooks[1].level, HK_LEVEL_COUNT);
	assert_int_equal(file.hooks[1].flags, HK_HOOK_SHORT | HK_HOOK_DESCRIBED);
	assert_int_equal(file.hooks[2].error, HK_ERROR_NEVER);
	assert_int_equal(file.hooks[2].auto_level, HK_LEVEL_OFF);
	assert_string_equal(file.hooks[3].library, "libz.so");
	assert_string_equal(file.hooks[3].symbol, "inflate*");
	assert_int_equal(file.hooks[3].flags, HK_HOOK_SHORT);
	assert_int_equal(file.hooks[3].error, HK_ERROR_NEVER);
	assert_int_equal(file.hooks[3].stack_words, HK_HOOK_STACK_UNKNOWN);
	assert_int_equal(file.hooks[3].arg_count, 0);
	assert_string_equal(file.hooks[4].library, "*");
	assert_int_equal(file.hooks[4].flags, HK_HOOK_DESCRIBED);
	assert_int_equal(file.hooks[4].level, HK_LEVEL_DEFAULT);
}

static void test_deny_takes_several(void **state)
{
	struct heard heard;
	struct hk_hook_file file = parse("deny setjmp _Unwind_* libx.so:go", &heard);

	(void)state;
	assert_string_equal(heard.text, "");
	assert_int_equal(file.hook_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(file.hooks[i].flags, HK_HOOK_DENY);
		assert_int_equal(file.hooks[i].auto_level, HK_LEVEL_OFF);
	}
	assert_string_equal(file.hooks[1].library, "*");
	assert_string_equal(file.hooks[1].symbol, "_Unwind_*");
	assert_string_equal(file.hooks[2].library, "libx.so");
	assert_string_equal(file.hooks[2].symbol, "go");
}

static void test_changes_and_callers(void **state)
{
	struct heard heard;

	(void)state;
	struct hk_hook_file file = parse("skip liba.so:f\n"
					 "return -2 liba.so:g* from=libb*\n"
					 "replace *:h with ./lib/c.so\n"
					 "replace *:h with /lib/c.so:other from=d\n"
					 "*:watched from=libe.so level=time\n"
					 "int described(int a) from=libf.so\n",
					 &heard);
	assert_int_equal(file.bad_lines, 0);
	assert_int_equal(file.hook_count, 6);
	assert_int_equal(file.hooks[0].action, HK_ACTION_SKIP);
	assert_string_equal(file.hooks[0].library, "liba.so");
	assert_string_equal(file.hooks[0].symbol, "f");
	assert_null(file.hooks[0].from);
	assert_int_equal(file.hooks[0].returns, 0);
	assert_int_equal(file.hooks[0].stack_words, HK_HOOK_STACK_UNKNOWN);
	assert_int_equal(file.hooks[1].action, HK_ACTION_RETURN);
	assert_int_equal(file.hooks[1].returns, (uint64_t)-2);
	assert_string_equal(file.hooks[1].symbol, "g*");
	assert_string_equal(file.hooks[1].from, "libb*");
	assert_int_equal(file.hooks[2].action, HK_ACTION_REPLACE);
	assert_string_equal(file.hooks[2].with_library, "./lib/c.so");
	assert_null(file.hooks[2].with_symbol);
	assert_string_equal(file.hooks[3].with_library, "/lib/c.so");
	assert_string_equal(file.hooks[3].with_symbol, "other");
	assert_string_equal(file.hooks[3].from, "d");
	assert_int_equal(file.hooks[4].action, HK_ACTION_NONE);
	assert_string_equal(file.hooks[4].from, "libe.so");
	assert_string_equal(file.hooks[5].from, "libf.so");
}

static const struct {
	const char *line;
	const char *message;
} bad_lines[] = {
    {"ptr malloc(sizet size)", "unknown type 'sizet'"},
    {"int", "function name expected"},
    {"int f", "'(' expected after 'f'"},
    {"int f(int a", "',' or ')' expected after 'a'"},
    {"int f(int a; int b)", "',' or ')' expected after 'a'"},
    {"int f(int)", "argument name expected"},
    {"int f(int a,)", "type expected"},
    {"int f(void a)", "argument cannot be void: 'a'"},
    {"int f(int a, int a)", "argument named twice: 'a'"},
    {"int f() colective", "unknown attribute 'colective'"},
    {"int f() byte=1", "unknown attribute 'byte'"},
    {"int f() io wait", "second meaning 'wait'"},
    {"int f() !", "attribute expected at '!'"},
    {"int f() level=high", "unknown level 'high'"},
    {"int f() auto=", "unknown level"},
    {"int f() error=sometimes", "unknown error rule 'sometimes'"},
    {"int f() error=null", "result type does not fit the error rule 'null'"},
    {"void f() error=nonzero", "result type does not fit the error rule 'nonzero'"},
    {"int f() sync=all", "sync=all needs a collective"},
    {"int f() sync=some", "sync is all or none, not 'some'"},
    {"int f() hidden=9", "hidden= is 0 to 8, not '9'"},
    {"int f() fortran=maybe", "fortran= is off or only, not 'maybe'"},
    {"int f() fortran=only", "fortran=only needs a fortran line before 'f'"},
    {"int f(int a) bytes=b", "unknown argument 'b'"},
    {"int f(int a) bytes=", "argument name expected"},
    {"int f(int a) bytes=a*", "argument name expected"},
    {"int f(double a) bytes=a", "argument is no number: 'a'"},
    {"void f() bytes=result", "no numeric 'result'"},
    {"int f(int a) bytes=*a", "not a pointer: 'a'"},
    {"int f(int a) bytes=4294967296", "not a number below 2^32: '4294967296'"},
    {"int f(int a) bytes=4k", "not a number below 2^32: '4k'"},
    {"int f(int a) bytes=1*2*3*4*5", "more than 4 factors"},
    {"int f(int a) bytes=a bytes=a", "value given twice"},
    {"int f(int a) m=a n=a k=a tag=a peer=a fd=a size=a count=a", "more than 7 values"},
    {"int f(int a) bytes=size(a)", "unknown function 'size'"},
    {"int f(int a) bytes=sizeof(a)", "argument of the wrong type: 'a'"},
    {"int f(int a) bytes=sizeof(a,a)", "wrong number of arguments for 'sizeof'"},
    {"int f(int a) bytes=sum(a,a,a,a)", "wrong number of arguments for 'sum'"},
    {"int f(int a) bytes=sizeof(a", "')' expected in 'sizeof'"},
    {"int f(comm c, comm d) newcomm=newcomm(c,d)", "argument of the wrong type: 'c'"},
    {"ptr f(ulong n) alloc size=n", "alloc needs pointer= and size="},
    {"ptr f(ulong n) remap size=n pointer=result",
     "remap needs old_pointer=, old_size=, pointer= and size="},
    {"libx.so: short", "library:symbol expected, not 'libx.so:'"},
    {":f", "library:symbol expected, not ':f'"},
    {"a:f bytes=1 hidden=2", "attribute needs a signature: 'f'"},
    {"a:f bytes=result", "no numeric 'result'"},
    {"deny", "library:symbol expected, not"},
    {"deny f g: h", "library:symbol expected, not 'g:'"},
    {"domain", "domain is one word of at most 15 letters, not"},
    {"domain abcdefghijklmnop", "domain is one word of at most 15 letters, not 'abcdefghijklmnop'"},
    {"domain a b", "a domain takes title=, order=1..99, colour=rrggbb/rrggbb and idle, not 'b'"},
    {"library a b", "library is one pattern, not 'a'"},
    {"default io", "default takes level, auto, error, pending and short only"},
    {"default sync=all", "default takes level, auto, error, pending and short only"},
    {"default kind=device", "default takes level, auto, error, pending and short only"},
    {"int f(int a) pending=65536", "pending= is a number below 65536, not '65536'"},
    {"int f(int a) pending=-1", "pending= is a number below 65536, not '-1'"},
    {"ptr f(ulong n) alloc size=n pointer=result kind=heap",
     "kind= is host, device, managed or pinned, not 'heap'"},
    {"ptr f(ulong n) alloc size=n pointer=result kind=device",
     "alloc of this kind needs device= 'device'"},
    {"ptr f(ulong n) map size=n pointer=result kind=pinned", "kind= needs alloc or free"},
    {"int f(ptr p) bytes=word(p)", "wrong number of arguments for 'word'"},
    {"int f(ptr p) bytes=word(p,p)", "argument of the wrong type: 'p'"},
    {"int f(ptr p, int a) bytes=word(a,1)", "argument of the wrong type: 'a'"},
    {"int f(int a) bytes=sizeof(4)", "argument of the wrong type: '4'"},
    {"int f(ptr p) bytes=word(p,4294967296)", "not a number below 2^32: '4294967296'"},
    {"int f(struct(16) a)", "struct(BYTES) has 17 to 128 bytes, not '16'"},
    {"int f(struct(129) a)", "struct(BYTES) has 17 to 128 bytes, not '129'"},
    {"int f(struct a)", "struct(BYTES) has 17 to 128 bytes, not 'a'"},
    {"struct f(int a)", "a result cannot be a struct"},
    {"int f(int a) also=", "also= is the ending of a name"},
    {"a:f stack=7", "stack= is a multiple of 8 up to 2040, not '7'"},
    {"a:f stack=2048", "stack= is a multiple of 8 up to 2040, not '2048'"},
    {"a:f stack=8x", "stack= is a multiple of 8 up to 2040, not '8x'"},
    {"a:f stack=", "stack= is a multiple of 8 up to 2040, not"},
    {"int f(int a) stack=8", "stack= follows from the signature of 'f'"},
    {"default stack=8", "default takes level, auto, error, pending and short only"},
    {"a:f also=_x", "attribute needs a signature: 'f'"},
    {"int f(struct(24) a) bytes=a", "argument is no number: 'a'"},
    {"int f(struct(128) a, struct(128) b, struct(128) c, struct(128) d, struct(128) e, struct(128) "
     "f, struct(128) g, struct(128) h, "
     "struct(128) i, struct(128) j, struct(128) k, struct(128) l, struct(128) m, struct(128) n, "
     "struct(128) o, struct(128) p)",
     "more than 255 words of arguments on the stack: 'f'"},
    {"fortran", "fortran is off or one to four name endings"},
    {"fortran a b c d e", "fortran is off or one to four name endings 'e'"},
    {"int f(int a) \x01\x80", "attribute expected at '?'"},
    {"\xff\xfe", "type expected"},
};

static void test_a_bad_line_says_why_and_takes_no_other_with_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
		char text[512];
		char expected[256];
		struct heard heard;

		snprintf(text, sizeof(text), "int before()\n%s\nint after()\n", bad_lines[i].line);
		struct hk_hook_file file = parse(text, &heard);
		snprintf(expected, sizeof(expected), "x.hooks:2: %s", bad_lines[i].message);
		if (strncmp(heard.text, expected, strlen(expected)) != 0 ||
		    strcmp(heard.text + strlen(expected), " (line ignored)\n") != 0) {
			fail_msg("got: %swant: %s (line ignored)", heard.text, expected);
		}
		assert_int_equal(heard.count, 1);
		assert_int_equal(file.hook_count, 2);
		assert_string_equal(file.hooks[0].symbol, "before");
		assert_string_equal(file.hooks[1].symbol, "after");
		assert_string_equal(file.hooks[1].domain, "user");
		assert_int_equal(file.hooks[1].line, 3);
	}
}

static void test_more_arguments_than_fit(void **state)
{
	char text[512] = "int f(int a0";
	struct heard heard;

	(void)state;
	for (unsigned i = 1; i < HK_HOOK_ARGS; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", int a%u", i);
	}
	size_t length = strlen(text);
	snprintf(text + length, sizeof(text) - length, ")");
	struct hk_hook_file file = parse(text, &heard);
	assert_int_equal(file.hook_count, 1);
	assert_int_equal(file.hooks[0].arg_count, 20);
	assert_int_equal(file.hooks[0].stack_words, 14);
	snprintf(text + length, sizeof(text) - length, ", int a20)");
	file = parse(text, &heard);
	assert_int_equal(file.hook_count, 0);
	assert_string_equal(heard.text,
			    "x.hooks:1: more than 20 arguments at 'a20' (line ignored)\n");
}

static void test_long_words_are_cut_in_messages(void **state)
{
	static char text[100000];
	struct heard heard;

	(void)state;
	memset(text, 'q', sizeof(text) - 1);
	parse(text, &heard);
	assert_int_equal(heard.count, 1);
	assert_in_range(strlen(heard.text), 40, 160);
}

static void test_a_full_arena_ends_the_file(void **state)
{
	static const char text[] = "int one(int a)\nint two(int b)\nint three(int c)\n";
	struct hk_hook_arena arena;
	struct hk_hook_file file;
	uint32_t most = 0;

	(void)state;
	for (size_t size = 0; size < 4 * sizeof(struct hk_hook); size += 7) {
		/* On the heap, so that a sanitizer sees a step outside. */
		char *block = malloc(size + 1);
		assert_non_null(block);
		hk_hook_arena_init(&arena, block, size);
		uint32_t bad = hk_hooks_parse(&arena, "n", text, sizeof(text) - 1, NULL, &file);
		assert_int_equal(bad, file.hook_count == 3 ? 0 : 1);
		assert_true(file.hook_count >= most);
		most = file.hook_count;
		if (most != 0) {
			assert_string_equal(file.hooks[0].symbol, "one");
			assert_string_equal(file.hooks[most - 1].symbol, most == 1   ? "one"
									 : most == 2 ? "two"
										     : "three");
		}
		free(block);
	}
	assert_int_equal(most, 3);
}

static void test_two_files_share_an_arena(void **state)
{
	static const char first[] = "int one()\nint two()\n";
	static const char second[] = "int three()\n";
	struct hk_hook_arena arena;
	struct hk_hook_file files[2];

	(void)state;
	hk_hook_arena_init(&arena, memory, sizeof(memory));
	hk_hooks_parse(&arena, "a", first, sizeof(first) - 1, NULL, &files[0]);
	hk_hooks_parse(&arena, "b", second, sizeof(second) - 1, NULL, &files[1]);
	assert_int_equal(files[0].hook_count, 2);
	assert_int_equal(files[1].hook_count, 1);
	assert_string_equal(files[0].name, "a");
	assert_string_equal(files[0].hooks[1].symbol, "two");
	assert_string_equal(files[1].hooks[0].symbol, "three");
}

static void test_more_lines_than_a_hook_can_name(void **state)
{
	static char text[70000];
	struct hk_hook_arena arena;
	struct hk_hook_file file;

	(void)state;
	memset(text, '\n', sizeof(text));
	memcpy(text + sizeof(text) - 8, "int f()", 7);
	hk_hook_arena_init(&arena, memory, sizeof(memory));
	assert_int_equal(hk_hooks_parse(&arena, "n", text, sizeof(text), NULL, &file), 1);
	assert_int_equal(file.hook_count, 0);
	memset(text, '\n', sizeof(text));
	memcpy(text + UINT16_MAX - 1, "int f()", 7);
	assert_int_equal(hk_hooks_parse(&arena, "n", text, UINT16_MAX + 6, NULL, &file), 0);
	assert_int_equal(file.hook_count, 1);
	assert_int_equal(file.hooks[0].line, UINT16_MAX);
}

static void test_a_domain_says_how_it_is_shown(void **state)
{
	struct heard heard = {0};
	struct hk_hook_file file =
	    parse("domain io title=I/O order=4 colour=d98200/f0a93a\nint f()\n"
		  "domain rest\nint g()\ndomain wait idle\n",
		  &heard);

	(void)state;
	assert_int_equal(file.bad_lines, 0);
	assert_int_equal(file.domain_count, 2);
	assert_string_equal(file.domains[0].name, "io");
	assert_string_equal(file.domains[0].title, "I/O");
	assert_int_equal(file.domains[0].order, 4);
	assert_int_equal(file.domains[0].light, 0xd98200);
	assert_int_equal(file.domains[0].dark, 0xf0a93a);
	assert_false(file.domains[0].idle);
	assert_string_equal(file.domains[1].name, "wait");
	assert_true(file.domains[1].idle);
	assert_string_equal(file.hooks[0].domain, "io");
	assert_string_equal(file.hooks[1].domain, "rest");
}

static void test_a_bad_domain_changes_nothing(void **state)
{
	static const char *const lines[] = {"domain io order=0",
					    "domain io order=100",
					    "domain io title=",
					    "domain io title=sixteenletterstoo",
					    "domain io colour=12345/abcdef",
					    "domain io colour=12345g/abcdef",
					    "domain io colour=123456",
					    "domain io shape=round",
					    "domain io ="};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct heard heard = {0};
		char text[128];
		snprintf(text, sizeof(text), "%s\nint f()\n", lines[i]);
		struct hk_hook_file file = parse(text, &heard);
		assert_int_equal(file.bad_lines, 1);
		assert_int_equal(file.domain_count, 0);
		assert_string_equal(file.hooks[0].domain, "user");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_described_line),
	    cmocka_unit_test(test_flags_say_how_a_function_is_hooked),
	    cmocka_unit_test(test_every_factor),
	    cmocka_unit_test(test_device_memory),
	    cmocka_unit_test(test_nccl_factors),
	    cmocka_unit_test(test_also_adds_a_name),
	    cmocka_unit_test(test_directives_hold_for_what_follows),
	    cmocka_unit_test(test_deny_takes_several),
	    cmocka_unit_test(test_changes_and_callers),
	    cmocka_unit_test(test_a_bad_line_says_why_and_takes_no_other_with_it),
	    cmocka_unit_test(test_more_arguments_than_fit),
	    cmocka_unit_test(test_long_words_are_cut_in_messages),
	    cmocka_unit_test(test_a_full_arena_ends_the_file),
	    cmocka_unit_test(test_two_files_share_an_arena),
	    cmocka_unit_test(test_more_lines_than_a_hook_can_name),
	    cmocka_unit_test(test_a_domain_says_how_it_is_shown),
	    cmocka_unit_test(test_a_bad_domain_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
