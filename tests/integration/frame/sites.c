/* A program that defines sites of its own, linked with no agent. test_sites.py knows what it does.
 *
 *     sites          all of it, once
 *     sites told     obeys lines of its input: N makes as many calls, "open" begins one and "close"
 * ends it; says whether they are on sites signals  calls while a timer's handler calls too, and
 * jumps away; says how often each did sites golden   calls for tests/golden: five nested ones, and
 * one of a site with a long name sites sealed   defines and calls before and after it forbids
 * itself nearly everything
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooktrace.h"
#include "sites_library.h"

#define MANY 30000u
#define THREADS 4
#define EACH 1000

static uint32_t define(const char *function)
{
	const struct hk_site_text text = {function, "/srv/model.py", "python"};
	return hk_site_define ? hk_site_define(&text) : HK_NO_SITE;
}

static uint32_t outer, inner, leaf;

static void call(uint32_t site, int failed)
{
	struct hk_open open;
	hk_enter(&open, site);
	hk_leave(&open, failed);
}

static void recurse(uint32_t site, int depth)
{
	struct hk_open open;
	hk_enter(&open, site);
	if (depth > 1) {
		recurse(site, depth - 1);
	}
	hk_leave(&open, 0);
}

static void *work(void *unused)
{
	struct hk_open open;
	(void)unused;
	for (int i = 0; i < EACH; i++) {
		hk_enter(&open, define("thread (model.py:7)"));
		call(leaf, 0);
		hk_leave(&open, 0);
	}
	hk_enter(&open, define("left by a thread (model.py:8)"));
	return NULL;
}

static void back(void)
{
	call(leaf, 0);
}

static void again(void)
{
	sites_around(NULL);
}

/* Calls of the library's function are hooked: one around the plain calls, one inside of them. */
static void nest(void)
{
	struct hk_open open;
	for (int i = 0; i < 10; i++) {
		hk_enter(&open, outer);
		sites_around(back);
		sites_around(again);
		hk_leave(&open, 0);
	}
}

/* A callback that begins a call and returns: the code of the call runs outside of it. */
static struct hk_open kept[3];

static __attribute__((noinline)) void begin(int at, uint32_t site)
{
	char deep[4096];
	memset(deep, at, sizeof(deep));
	__asm__ volatile("" : : "r"(deep) : "memory");
	hk_enter(&kept[at], site);
}

static void begin_apart(void)
{
	for (int i = 0; i < 10; i++) {
		begin(0, outer);
		sites_around(NULL); /* its frame is above that of begin */
		begin(1, inner);
		sites_around(back);
		hk_leave(&kept[1], 0);
		hk_leave(&kept[0], 0);
	}
}

/* The end of an outer call ends those inside of it. */
static void leave_outer(void)
{
	uint32_t lost = define("never left (model.py:9)");
	for (int i = 0; i < 5; i++) {
		begin(0, outer);
		begin(1, lost);
		begin(2, lost);
		hk_leave(&kept[0], 0);
		hk_leave(&kept[0], 0); /* it is over */
	}
	call(leaf, 0);
}

static jmp_buf jump;

static void leap(void)
{
	begin(1, inner);
	longjmp(jump, 1);
}

/* A jump leaves a call of a function and a plain call inside of it. */
static void jump_over(void)
{
	for (int i = 0; i < 5; i++) {
		begin(0, outer);
		if (setjmp(jump) == 0) {
			sites_around(leap);
		}
		hk_leave(&kept[0], 1);
	}
}

static void many(void)
{
	char name[64];
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many_%u (generated.py:%u)", i, i);
		uint32_t site = define(name);
		if (site != define(name)) {
			puts("two sites of one text");
		}
		call(site, 0);
	}
}

static void names(void)
{
	static char text[6000];
	struct hk_site_text what = {"same (a.py:1)", "a.py", "python"};
	call(hk_site_define(&what), 0);
	what.library = "b.py";
	call(hk_site_define(&what), 0);
	what.domain = "torch";
	call(hk_site_define(&what), 0);
	what.function = NULL;
	call(hk_site_define(&what), 0);
	memset(text, 'x', sizeof(text) - 1);
	what.function = what.library = what.domain = text;
	call(hk_site_define(&what), 0);
	call(HK_NO_SITE, 0);
	call(1, 0); /* a number that no call of hk_site_define returned */
}

static void child(void)
{
	struct hk_open open;
	hk_enter(&open, outer); /* the parent's */
	pid_t pid = fork();
	if (pid == 0) {
		hk_leave(&open, 0);
		for (int i = 0; i < 3; i++) {
			call(leaf, 0);
		}
		call(define("child (model.py:5)"), 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	hk_leave(&open, 0);
}

/* ---- functions at pointers ---- */

typedef void *method(long, long, long, long, long, long);

static void *method_of(long a, long b, long c, long d, long e, long f)
{
	long sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
	return (void *)(sum + (long)sum % 2 * 100);
}

static void *fails_of(long a, long b, long c, long d, long e, long f)
{
	return b + c + d + e + f && a % 4 == 0 ? NULL : (void *)1;
}

static method *const volatile constant[] = {method_of}; /* read-only when the program runs */
static method *table[] = {method_of, fails_of, fails_of};

static int hook(method *const volatile *slot, const char *function)
{
	const struct hk_site_text text = {function, "torch", "torch"};
	return hk_hook_pointer((void **)(uintptr_t)slot, &text);
}

static void pointers(void)
{
	method **page =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[0] = method_of;
	mprotect(page, 4096, PROT_READ);
	if (hook(page, "refused") || hook(NULL, "refused") || hook((method **)8, "refused") ||
	    !hook(constant, "constant") || !hook(&table[0], "method") ||
	    !hook(&table[1], "fails") || !hook(&table[1], "hooked before") ||
	    table[2] == table[1]) {
		puts("a pointer is not as it should be");
	}
	for (long i = 0; i < 12; i++) {
		void *result = table[0](i, 1, 2, 3, 4, 5);
		if (result != method_of(i, 1, 2, 3, 4, 5) ||
		    constant[0](i, 0, 0, 0, 0, 0) != method_of(i, 0, 0, 0, 0, 0)) {
			puts("another result");
		}
		table[1](i, 1, 1, 1, 1, 1);
		table[2](i, 1, 1, 1, 1, 1); /* not hooked */
		page[0](i, 1, 2, 3, 4, 5);
	}
}

static int obey(void)
{
	char line[64];
	while (fgets(line, sizeof(line), stdin)) {
		int calls = atoi(line);
		for (int i = 0; i < calls; i++) {
			call(leaf, 0);
		}
		if (strcmp(line, "open\n") == 0) {
			hk_enter(&kept[0], outer);
		} else if (strcmp(line, "close\n") == 0) {
			hk_leave(&kept[0], 0);
		}
		printf("%d\n", hk_is_on(leaf));
		fflush(stdout);
	}
	return 0;
}

#define TICKS 500
#define JUMPS_EVERY 5

static volatile sig_atomic_t ticks;
static sigjmp_buf before;

static void on_tick(int number)
{
	struct hk_open open;
	(void)number;
	hk_range_push("tick");
	hk_enter(&open, leaf);
	call(inner, 0);
	hk_leave(&open, 0);
	hk_range_pop();
	ticks++;
	if (ticks % JUMPS_EVERY == 0) {
		siglongjmp(before, 1);
	}
}

/* The handler interrupts calls at any instruction, and leaves some of them. */
static int with_signals(void)
{
	const struct itimerval fast = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_tick};
	volatile unsigned long made = 0;
	struct hk_open whole;
	hk_enter(&whole, define("whole (model.py:11)"));
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &fast, NULL);
	sigsetjmp(before, 1);
	while (ticks < TICKS) {
		made++;
		call(outer, 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	hk_leave(&whole, 0);
	printf("%lu %d\n", made, (int)ticks);
	return 0;
}

static int for_golden(void)
{
	char name[2001];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	recurse(define("recurse (model.py:4)"), 5);
	call(define(name), 0);
	return 0;
}

static int in_sandbox(void)
{
	call(leaf, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
		return 1;
	}
	for (int i = 0; i < 100; i++) {
		call(leaf, 0);
		call(inner, 0); /* its first calls */
		call(define("too late (model.py:6)"), 0);
	}
	syscall(SYS_exit, 0);
	return 1;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	if (!hk_site_define) {
		puts("no agent");
		return 0;
	}
	outer = define("outer (model.py:1)");
	inner = define("inner (model.py:2)");
	leaf = define("leaf (model.py:3)");
	if (argc > 1) {
		return strcmp(argv[1], "told") == 0	 ? obey()
		       : strcmp(argv[1], "golden") == 0	 ? for_golden()
		       : strcmp(argv[1], "signals") == 0 ? with_signals()
							 : in_sandbox();
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_create(&thread[i], NULL, work, NULL);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
	}
	recurse(define("recurse (model.py:4)"), 100);
	recurse(define("recurse (model.py:4)"), 3);
	for (int i = 0; i < 20; i++) {
		call(define("fails (model.py:10)"), i % 3 == 0);
	}
	nest();
	begin_apart();
	leave_outer();
	jump_over();
	names();
	pointers();
	child();
	many();
	printf("%d\n", hk_is_on(leaf));
	return 0;
}
