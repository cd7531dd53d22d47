/* Redirects calls of the library by hk_replace while it runs, and says what it got. */
#include <dlfcn.h>
#include <stdio.h>

#include "agent/hooktrace.h"
#include "library.h"

int left(unsigned times);
int right(unsigned times);

static int (*original)(int x);

static int tenfold(int x)
{
	return 10 * original(x);
}

static int zero(int x)
{
	(void)x;
	return 0;
}

static void say(const char *what)
{
	int sum = 0;
	int (*found)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "changes_number");

	for (int i = 0; i < 5; i++) {
		sum += changes_number(i);
	}
	printf("%s: number %d left %d right %d found %d\n", what, sum, left(10), right(20),
	       found(1));
}

/* Loads a library whose slots the agent has not seen before. */
static void say_late(void)
{
	void *handle = dlopen("libchanges_late.so", RTLD_NOW);
	int (*late)(unsigned) = handle ? (int (*)(unsigned))dlsym(handle, "late") : NULL;

	printf("late %d\n", late ? late(10) : -1);
	if (handle) {
		dlclose(handle);
	}
}

static int replace(const char *from, int (*with)(int))
{
	if (!hk_replace) {
		return -2;
	}
	return hk_replace(from, "changes_number", (void *)with, (void **)&original);
}

int main(void)
{
	void *none;

	say("before");
	int slots = replace("libchanges_left.so", tenfold);
	say("left");
	slots += replace(NULL, tenfold) * 10;
	say("all");
	say_late();
	slots += replace(NULL, zero) * 100;
	say("other");
	slots += replace(NULL, NULL) * 1000;
	say("left again");
	slots += replace("libchanges_left.so", NULL) * 10000;
	say("after");
	say_late();
	printf("slots %d\n", slots);
	printf("refused %d %d\n", hk_replace ? hk_replace(NULL, "dlopen", (void *)zero, &none) : -1,
	       hk_replace ? hk_replace(NULL, "no_such_function", (void *)zero, &none) : 0);
	printf("called %u\n", changes_calls.number);
	return 0;
}
