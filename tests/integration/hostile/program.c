/* Ranges, marks, counters and a thread of the names given, of which each is used three times;
 * memory by a library of any path. program LIBRARY NAME... */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../agent/hooktrace.h"

#define TIMES 3

typedef void *keep_function(size_t bytes);

static const char **names;

static void *use_names(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "\"<\n\033[31m\377>");
	for (const char **name = names; *name; name++) {
		for (int i = 0; i < TIMES; i++) {
			hk_range_push(*name);
			hk_mark(*name);
			hk_counter(*name, i);
			hk_range_pop();
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	pthread_t thread;

	if (!library) {
		fprintf(stderr, "program LIBRARY NAME...\n");
		return 2;
	}
	keep_function *keep = (keep_function *)dlsym(library, "keep");
	names = (const char **)argv + 2;
	if (!keep || !keep(5000) || pthread_create(&thread, NULL, use_names, NULL) != 0) {
		return 1;
	}
	return pthread_join(thread, NULL) == 0 ? 0 : 1;
}
