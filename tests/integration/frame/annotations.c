/* A program that annotates itself, linked with nothing. test_annotations.py knows what it says.
 *
 *     annotations [NAMES]     NAMES: marks of as many different names, and nothing else
 *     annotations sandbox     the same names before and after it forbids itself nearly everything
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hooktrace.h"

#define STEPS 20

static void *other_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++) {
		hk_range_push("shared");
		hk_mark("tick");
		hk_range_pop();
	}
	hk_range_push("left open by a thread");
	return NULL;
}

static void nest(int depth)
{
	if (depth > 0) {
		hk_range_push("deep");
		nest(depth - 1);
		hk_range_pop();
	}
}

static void one_step(int step)
{
	char name[32];

	hk_step((uint64_t)step);
	snprintf(name, sizeof(name), "phase %d", step % 2); /* gone after the call */
	hk_range_push(name);
	hk_range_push("shared");
	hk_counter("loss", 1.0 / (step + 1));
	hk_range_pop();
	hk_range_pop();
	hk_mark("a \"mark\"");
}

static void say(int first, int end)
{
	char name[] = "name 0";

	for (int i = first; i < end; i++) {
		name[5] = (char)('0' + i);
		hk_range_push(name);
		hk_counter("count", i);
		hk_range_pop();
		hk_step((uint64_t)i);
	}
}

/* Any system call but read, write and exit kills from here on, and so does reading the clock. */
static int in_sandbox(void)
{
	say(0, 5);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
		return 1;
	}
	say(0, 8); /* three of these are new */
	syscall(SYS_exit, 0);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "sandbox") == 0) {
		return in_sandbox();
	}

	pthread_t thread;
	char name[200];

	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) {
		snprintf(name, sizeof(name), "name %d", i);
		hk_mark(name);
	}
	if (argc > 1) {
		return 0;
	}
	hk_range_pop(); /* there is none */
	hk_range_push("main");
	for (int step = 0; step < STEPS; step++) {
		one_step(step);
	}
	nest(100); /* more than the agent keeps: those above are counted */
	if (pthread_create(&thread, NULL, other_thread, NULL) != 0) {
		return 1;
	}
	pthread_join(thread, NULL);
	hk_range_pop();
	for (unsigned i = 0; i + 1 < sizeof(name); i++) {
		name[i] = 'n';
	}
	name[sizeof(name) - 1] = '\0';
	hk_mark(name);
	hk_mark(NULL);
	hk_range_push("left open");
	puts("done");
	return 0;
}
