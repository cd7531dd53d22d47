/* Compiled and linked once for each kind of object; see CMakeLists.txt. */
#include "callee.h"

/* Relocated by address: one in pages that become read-only, one that stays writable. */
static long (*const fixed[])(long, long) = {callee_add, callee_add};
static long (*loose[])(long, long) = {callee_add, callee_add};

#ifdef OWN
long callee_own(long a)
{
	counted[COUNTED_OWN]++;
	return a + 1;
}
#endif

#ifdef MANY
/* So many relocations that the loader is seen at work. */
__asm__(".pushsection .data.rel.many, \"aw\"\n"
	"	.rept 20000\n"
	"	.quad callee_add\n"
	"	.endr\n"
	".popsection\n");
#endif

#ifdef EARLY
static long plain(long a)
{
	return a;
}

/* Runs inside the loader: before the PLT's slots are relocated if an address in a table is resolved
 * (EARLY 1), after all others but before the pages become read-only if a call is (EARLY 2). */
__attribute__((used)) static long (*pick(void))(long)
{
	(*(early_function *)EARLY_PAGE)();
	return plain;
}

#if EARLY == 1
long caller_early(long a) __attribute__((ifunc("pick")));
#else
static long caller_early(long a) __attribute__((ifunc("pick")));
#endif
static long (*volatile early[])(long) = {caller_early};
#endif

#ifdef LARGE
/* Code where, added to the address of data of a program that is not position independent, code
 * would be. */
__asm__(".pushsection .text\n"
	"	.skip 0x500000\n"
	".popsection\n");
/* The program's, which this library is not linked with: nothing here says that it is data. */
extern long program_data;
#endif

#ifdef STARTING
/* Runs before dlopen returns. */
__attribute__((constructor)) static void start(void)
{
	callee_add(1, 1);
}
#endif

long caller_run(long count)
{
	long sum = callee_data;
#ifdef LARGE
	sum += program_data;
#endif
	for (long i = 0; i < count; i++) {
		sum = callee_add(sum, i);
		sum = callee_chosen(sum);
#ifdef OWN
		sum = callee_own(sum);
#endif
	}
#ifdef EARLY
	sum = early[0](sum) + caller_early(0);
#endif
	return sum + callee_data;
}

long caller_table(long count)
{
	long sum = 0;
	for (long i = 0; i < count; i++) {
		long (*const volatile *table)(long, long) = i % 2 ? fixed : loose;
		sum = table[i % 3 % 2](sum, i);
	}
	return sum;
}
