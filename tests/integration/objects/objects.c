/* Calls a caller's functions and prints what the callee counted.
 *
 * objects run            the caller is part of the program, or preloaded
 * objects open PATH...   loads each, lazily, runs it and unloads it
 * objects now|deep PATH  loads it with RTLD_NOW, or lazily with RTLD_DEEPBIND
 * objects reload PATH    loads and unloads it, at the same address and at others
 * objects race PATH      loads and unloads it while two threads make the agent look
 * objects early PATH     loads one that makes the agent look while it is being relocated
 * objects unseen PATH    unloads and loads it at the same address behind the agent's back
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "callee.h"

#define CALLS 7
#define TABLE_CALLS 6
#define ROUNDS 6
#define RACES 300

/* For a library that is not linked with it. */
__attribute__((visibility("default"))) long program_data = 3;

typedef long (*caller_function)(long count);

static long run(caller_function calls, caller_function table)
{
	return calls && table ? calls(CALLS) + table(TABLE_CALLS) : -1;
}

static void *open_at(const char *path, int mode, uintptr_t *ret_base)
{
	void *handle = dlopen(path, mode);
	struct link_map *map = NULL;
	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map)) {
		puts(dlerror());
		exit(1);
	}
	*ret_base = map->l_addr;
	return handle;
}

static uintptr_t run_library(const char *path, int mode, bool quiet)
{
	uintptr_t base;
	void *handle = open_at(path, mode, &base);
	long sum = run((caller_function)dlsym(handle, "caller_run"),
		       (caller_function)dlsym(handle, "caller_table"));
	if (!quiet) {
		printf("sum %ld\n", sum);
	}
	dlclose(handle);
	return base;
}

/* Whatever lies where the library was makes the loader take another place. */
static void reload(const char *path)
{
	uintptr_t before = 0;
	unsigned same = 0, moved = 0;
	for (int i = 0; i < ROUNDS; i++) {
		long page = 4096;
		void *stone = MAP_FAILED;
		if (i % 3 == 2) {
			stone = mmap((void *)before, (size_t)page, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		}
		uintptr_t base = run_library(path, RTLD_LAZY, false);
		same += base == before;
		moved += before && base != before;
		before = base;
		if (stone != MAP_FAILED) {
			munmap(stone, (size_t)page);
		}
	}
	printf("same %d moved %d\n", same > 0, moved > 0);
}

/* A lookup is what makes the agent look for new objects. */
static void look_once(void)
{
	if (dlsym(RTLD_DEFAULT, "no_such_symbol")) {
		abort();
	}
}

static void run_early(const char *path)
{
	early_function *page = mmap((void *)EARLY_PAGE, 4096, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page == MAP_FAILED) {
		abort();
	}
	*page = look_once;
	run_library(path, RTLD_NOW, false);
}

/* Pointers in a table are nothing that the agent would change. */
static const struct {
	void *(*open)(const char *path, int mode);
	int (*close)(void *handle);
} volatile unseen = {dlopen, dlclose};

static void run_unseen(const char *path)
{
	struct link_map *map;
	void *handle = unseen.open(path, RTLD_LAZY);
	for (int i = 0; handle && i < 2; i++) {
		uintptr_t before = 0;
		if (i > 0) {
			dlinfo(handle, RTLD_DI_LINKMAP, &map);
			before = map->l_addr;
			unseen.close(handle);
			handle = unseen.open(path, RTLD_LAZY);
		}
		dlinfo(handle, RTLD_DI_LINKMAP, &map);
		printf("sum %ld same %d\n",
		       run((caller_function)dlsym(handle, "caller_run"),
			   (caller_function)dlsym(handle, "caller_table")),
		       map->l_addr == before);
	}
}

static atomic_int stop;

static void *look(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		look_once();
	}
	return NULL;
}

static void race(const char *path)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, look, NULL)) {
			abort();
		}
	}
	for (int i = 0; i < RACES; i++) {
		run_library(path, RTLD_NOW, true);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
	}
}

static int run_present(void)
{
#ifdef INSIDE
	printf("sum %ld\n", run(caller_run, caller_table));
#else
	printf("sum %ld\n", run((caller_function)dlsym(RTLD_DEFAULT, "caller_run"),
				(caller_function)dlsym(RTLD_DEFAULT, "caller_table")));
#endif
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "run";
	if (strcmp(what, "run") == 0) {
		run_present();
	} else if (strcmp(what, "reload") == 0) {
		reload(argv[2]);
	} else if (strcmp(what, "race") == 0) {
		race(argv[2]);
	} else if (strcmp(what, "early") == 0) {
		run_early(argv[2]);
	} else if (strcmp(what, "unseen") == 0) {
		run_unseen(argv[2]);
	} else {
		int mode = strcmp(what, "now") == 0    ? RTLD_NOW
			   : strcmp(what, "deep") == 0 ? RTLD_LAZY | RTLD_DEEPBIND
						       : RTLD_LAZY;
		for (int i = 2; i < argc; i++) {
			run_library(argv[i], mode, false);
		}
	}
	printf("add %ld\nchosen %ld\nown %ld\n", counted[COUNTED_ADD], counted[COUNTED_CHOSEN],
	       counted[COUNTED_OWN]);
	return 3;
}
