/* Looks functions up by name. One argument: how; the last one: where the libraries are. Prints
 * results only, so that a run with the probe prints the same as one without. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "lookup.h"

#define THREADS 3
#define ROUNDS 300

typedef long (*one_function)(long);

static char directory[512];

static void *opened(const char *name, int mode)
{
	char path[1024];
	snprintf(path, sizeof(path), "%s/lib%s.so", directory, name);
	return dlopen(path, mode);
}

static long add_up(void *found, long count)
{
	target_function add = (target_function)found;
	long sum = 0;
	for (long i = 0; add && i < count; i++) {
		sum = add(sum, i);
	}
	return sum;
}

static void say_error(void)
{
	const char *error = dlerror();
	printf("%s\n", error ? error : "no error");
}

/* By a library's handle, with and without a version. */
static int handle(void)
{
	void *target = opened("target", RTLD_NOW);
	void *versions = opened("versions", RTLD_NOW);
	printf("%ld\n", add_up(dlsym(target, "target_add"), 5));
	one_function old = (one_function)dlvsym(versions, "target_version", "V1");
	one_function new = (one_function)dlvsym(versions, "target_version", "V2");
	one_function usual = (one_function)dlsym(versions, "target_version");
	printf("%ld %ld %ld %ld\n", old(1), new (1), new (2), usual(3));
	printf("%d %d\n", dlvsym(versions, "target_version", "V3") != NULL,
	       new == (one_function)dlsym(versions, "target_version"));
	say_error();
	long *data = dlsym(target, "target_data");
	printf("%ld\n", *data);
	one_function chosen = (one_function)dlsym(opened("ifunc", RTLD_NOW), "target_chosen");
	printf("%ld\n", chosen(1) + chosen(2));
	return 0;
}

/* For every caller the first definition counts, except for callers with their own. */
static int anywhere(void)
{
	printf("%ld\n", add_up(dlsym(RTLD_DEFAULT, "target_add"), 4));
	printf("%ld\n", add_up(dlsym(dlopen(NULL, RTLD_NOW), "target_add"), 3));
	void *left = opened("left", RTLD_NOW | RTLD_LOCAL);
	void *asker = opened("asker_left", RTLD_NOW | RTLD_LOCAL);
	one_function ask = (one_function)dlsym(asker, "asker_sides");
	printf("%ld\n", ask(2));
	/* Now there are two, and the second one is what everybody but the asker sees. */
	void *right = opened("right", RTLD_NOW | RTLD_GLOBAL);
	printf("%d %ld\n", left && right, ask(3));
	long (*side)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "target_side");
	printf("%ld\n", side());
	return 0;
}

/* Only one has it. */
static int single(void)
{
	opened("right", RTLD_NOW | RTLD_GLOBAL);
	one_function ask = (one_function)dlsym(opened("asker", RTLD_NOW), "asker_sides");
	printf("%ld\n", ask(3));
	return 0;
}

/* Its own scope goes before everybody's. */
static int deep(void)
{
	opened("right", RTLD_NOW | RTLD_GLOBAL);
	void *asker = opened("asker_left", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	one_function ask = (one_function)dlsym(asker, "asker_sides");
	printf("%ld\n", ask(3));
	return 0;
}

static int errors(void)
{
	void *target = opened("target", RTLD_NOW);
	printf("%d\n", dlsym(target, "target_nothing") != NULL);
	say_error();
	say_error();
	printf("%d\n", dlsym(RTLD_DEFAULT, "target_nothing") != NULL);
	say_error();
	printf("%d\n", dlsym(RTLD_NEXT, "target_nothing") != NULL);
	say_error();
	printf("%d\n", dlvsym(RTLD_DEFAULT, "target_add", "V9") != NULL);
	say_error();
	/* A success leaves what it finds. */
	printf("%d %d\n", dlsym(target, "target_nothing") != NULL,
	       dlsym(target, "target_add") != NULL);
	say_error();
	printf("%d %d\n", dlsym(RTLD_DEFAULT, "target_nothing") != NULL,
	       dlsym(RTLD_DEFAULT, "target_add") != NULL);
	say_error();
	return 0;
}

/* One function has one address, for every caller and every way to look it up. */
static int identity(void)
{
	void *target = opened("target", RTLD_NOW);
	target_function add = (target_function)dlsym(target, "target_add");
	printf("%d %d %d\n", add == pointer_address(), add == other_address(),
	       add == (target_function)dlsym(RTLD_DEFAULT, "target_add"));
	Dl_info info = {0};
	int found = dladdr((void *)add, &info);
	printf("%d %s %s %d\n", found, info.dli_sname, strrchr(info.dli_fname, '/') + 1,
	       info.dli_saddr == (void *)add);
	void *extra = NULL;
	found = dladdr1((void *)add, &info, &extra, RTLD_DL_SYMENT);
	printf("%d %d\n", found, extra != NULL);
	printf("%ld\n", add_up((void *)add, 5));
	return 0;
}

/* Functions that no slot is for: a plug-in's, and the program's own. */
long target_own_table(long a, long b);

long target_own_table(long a, long b)
{
	return a - b;
}

static int plugin(void)
{
	one_function run = (one_function)dlsym(opened("plain", RTLD_NOW), "target_plain");
	printf("%ld\n", run(1) + run(2) + run(3));
	target_function own = (target_function)dlsym(dlopen(NULL, RTLD_NOW), "target_own_table");
	void *(*ask)(const char *) =
	    (void *(*)(const char *))dlsym(opened("asker", RTLD_NOW), "asker_of");
	printf("%d %ld\n", own == target_own_table, own(3, 1));
	printf("%d\n", ask("target_own_table") == (void *)target_own_table);
	return 0;
}

/* The functions of the loader can be looked up too. */
static int again(void)
{
	void *all = dlopen(NULL, RTLD_NOW);
	void *(*look)(void *, const char *) = (void *(*)(void *, const char *))dlsym(all, "dlsym");
	void *(*open)(const char *, int) =
	    (void *(*)(const char *, int))look(RTLD_DEFAULT, "dlopen");
	char path[1024];
	snprintf(path, sizeof(path), "%s/sub/libplug.so", directory);
	void *plug = open(path, RTLD_NOW);
	one_function run = (one_function)look(plug, "plug_run");
	printf("%ld\n", run(6));
	printf("%d\n", dlclose(plug));
	printf("%ld\n", add_up(look(all, "target_add"), 2));
	printf("%d\n", look == (void *(*)(void *, const char *))dlsym);
	return 0;
}

static int early(void)
{
	printf("%ld\n", early_run(9));
	return 0;
}

static int interposed(void)
{
	printf("%ld\n", lazy_run(5) + now_run(6) + target_add(1, 2));
	long (*calls)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "interposer_calls");
	printf("%ld\n", calls ? calls() : -1);
	return 0;
}

/* $ORIGIN is the caller's place. */
static int origin(void)
{
	void *plug = dlopen("$ORIGIN/sub/libplug.so", RTLD_NOW);
	one_function run = plug ? (one_function)dlsym(plug, "plug_run") : NULL;
	printf("%ld\n", run ? run(8) : -1);
	printf("%d\n", dlopen("$ORIGIN/nowhere/libplug.so", RTLD_NOW) != NULL);
	say_error();
	return 0;
}

static atomic_int begun;

/* Each opens, looks up, calls and closes; the library goes and comes when all have let go of it. */
static void *churn(void *unused)
{
	(void)unused;
	char path[1024];
	long sum = 0;
	snprintf(path, sizeof(path), "%s/sub/libplug.so", directory);
	atomic_fetch_add(&begun, 1);
	while (atomic_load(&begun) < THREADS) {
	}
	for (int i = 0; i < ROUNDS; i++) {
		void *plug = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		one_function run = plug ? (one_function)dlsym(plug, "plug_run") : NULL;
		sum += run ? run(3) : -1000;
		sum += add_up(dlsym(RTLD_DEFAULT, "target_add"), 2);
		sum += target_negate(0);
		if (plug) {
			dlclose(plug);
		}
	}
	return (void *)sum;
}

static int threads(void)
{
	pthread_t thread[THREADS];
	long sum = 0;
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, churn, NULL)) {
			return 1;
		}
	}
	for (int i = 0; i < THREADS; i++) {
		void *result;
		pthread_join(thread[i], &result);
		sum += (long)result;
	}
	printf("%ld\n", sum);
	return 0;
}

/* The driver's functions, from itself and from a runtime. */
static int driver(void)
{
	void *cuda = opened("driver", RTLD_NOW);
	get_function get = (get_function)dlsym(cuda, "cuGetProcAddress");
	void *found = NULL;
	uint64_t address = 0;
	printf("%d\n", get("cuMemAlloc", &found, 12000, 0));
	for (int i = 0; i < 3; i++) {
		printf("%d ", ((alloc_function)found)(&address, 1));
	}
	printf("%lx\n", (unsigned long)address);
	unsigned old_address = 1;
	printf("%d\n", get("cuMemAlloc", &found, 2000, 0));
	printf("%d %u\n", ((int (*)(unsigned *, unsigned))found)(&old_address, 1), old_address);
	printf("%d\n", get("cuMemFree", &found, 12000, 0));
	printf("%d\n", ((free_function)found)(address));
	printf("%d\n", get("cuLaunchKernel", &found, 12000, 0));
	printf("%d\n", ((launch_function)found)(1, 2, 3, 4, 5, 6, 7, 8));
	printf("%d\n", get("cuStreamSynchronize", &found, 12000, 0));
	printf("%d\n", ((sync_function)found)(NULL));
	printf("%d\n", get("cuNothing", &found, 12000, 0));
	get_v2_function newer;
	int status = -1;
	printf("%d\n", get("cuGetProcAddress", &found, 12000, 0));
	newer = (get_v2_function)found;
	int result = newer("cuMemFree", &found, 12000, 0, &status);
	printf("%d %d\n", result, status);
	printf("%d\n", ((free_function)found)(address));
	return 0;
}

static int runtime(void)
{
	void *found = NULL;
	uint64_t address;
	int status = -1;
	printf("%d\n", runtime_run(4));
	int result = cudaGetDriverEntryPoint("cuMemAlloc", &found, 0, &status);
	printf("%d %d\n", result, status);
	printf("%d\n", ((alloc_function)found)(&address, 1));
	printf("%d\n", cudaGetDriverEntryPointByVersion("cuMemFree", &found, 12000, 0, &status));
	printf("%d\n", ((free_function)found)(address));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} all[] = {{"handle", handle},	       {"anywhere", anywhere}, {"deep", deep},
		   {"single", single},	       {"errors", errors},     {"identity", identity},
		   {"plugin", plugin},	       {"again", again},       {"early", early},
		   {"interposed", interposed}, {"origin", origin},     {"threads", threads},
		   {"driver", driver},	       {"runtime", runtime}};
	if (argc != 3) {
		return 2;
	}
	snprintf(directory, sizeof(directory), "%s", argv[2]);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(argv[1], all[i].name) == 0) {
			return all[i].run();
		}
	}
	return 2;
}
