/* One argument: what to do. Prints results only, so that a run with the probe prints the same as
 * one without. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

static int maps(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[1024];
	while (file && fgets(line, sizeof(line), file)) {
		fputs(line, stdout);
	}
	return file ? fclose(file) : 1;
}

static int calls(void)
{
	printf("%ld %ld %ld %ld %ld\n", lazy_run(5), now_run(6), noplt_run(7), sysv_run(8),
	       own_run(9));
	printf("%ld\n", target_add(1, 2));
	printf("%d\n", pointer_address() == other_address());
	printf("%ld\n", pointer_run(4));
	return 0;
}

static int plugs(void)
{
	for (int i = 0; i < 5; i++) {
		printf("%ld\n", opener_run("plug.so", "plug_run", 10));
		printf("%ld\n", opener_run("libplug.so", "plug_run", 10));
	}
	printf("%ld\n", opener_run("libnowhere.so", "x", 1));
	const char *error = dlerror();
	printf("%s\n", error ? error : "no error");
	error = dlerror();
	printf("%s\n", error ? error : "no error");
	printf("%d %d\n", next_who_1(), next_who_2());
	return 0;
}

static atomic_int stop;

static void *look(void *unused)
{
	(void)unused;
	long found = 0;
	while (!atomic_load(&stop)) {
		found += dlsym(RTLD_DEFAULT, "no_such_symbol") != NULL;
	}
	return (void *)found;
}

/* One thread loads and unloads, another makes scans all the time. */
static int race(const char *directory)
{
	char name[1024];
	snprintf(name, sizeof(name), "%s/sub/libplug.so", directory);
	pthread_t thread;
	if (pthread_create(&thread, NULL, look, NULL)) {
		return 1;
	}
	long sum = 0;
	for (int i = 0; i < 1000; i++) {
		void *handle = dlopen(name, RTLD_NOW);
		long (*run)(long) = handle ? (long (*)(long))dlsym(handle, "plug_run") : NULL;
		sum += run ? run(3) : -1000;
		if (handle) {
			dlclose(handle);
		}
	}
	atomic_store(&stop, 1);
	void *found;
	pthread_join(thread, &found);
	printf("%ld %ld\n", sum, (long)found);
	return 0;
}

static int forked(const char *directory)
{
	char name[1024];
	snprintf(name, sizeof(name), "%s/sub/libplug.so", directory);
	pid_t child = fork();
	if (child == 0) {
		printf("%ld\n", opener_run(name, "plug_run", 4));
		fflush(stdout);
		_exit(0);
	}
	int status = 1;
	waitpid(child, &status, 0);
	printf("%ld %d\n", opener_run(name, "plug_run", 5), status);
	return 0;
}

static int hidden(void)
{
	static const char *const names[] = {"libtarget.so", "libsysv.so"};
	for (int i = 0; i < 2; i++) {
		void *handle = dlmopen(LM_ID_NEWLM, names[i], RTLD_NOW);
		target_function add = handle ? (target_function)dlsym(handle, "target_add") : NULL;
		printf("%ld\n", add ? add(2, 3) : -1);
	}
	return 0;
}

static int versions(void)
{
	for (long i = 0; i < 3; i++) {
		printf("%ld %ld\n", v1_run(10 * i), v2_run(10 * i));
	}
	return 0;
}

static void *meet(void *unused)
{
	(void)unused;
	return (void *)v2_meet(0);
}

/* One thread is still in its first call through a slot when another calls through the same. */
static int blocked(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, meet, NULL)) {
		return 1;
	}
	versions_await();
	long mine = v2_meet(1);
	void *other;
	pthread_join(thread, &other);
	printf("%ld %ld %ld\n", mine, (long)other, v1_meet(0));
	return 0;
}

/* Opens libraries named after the first argument, for everybody, and runs the last one. */
static int sides(int count, char **names, const char *directory)
{
	void *handle = NULL;
	for (int i = 0; i < count; i++) {
		char name[1024];
		snprintf(name, sizeof(name), "%s/lib%s.so", directory, names[i]);
		handle = dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
	}
	long (*run)(long) = handle ? (long (*)(long))dlsym(handle, "side_run") : NULL;
	printf("%ld\n", run ? run(5) : -1);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		return 2;
	}
	const char *what = argv[1];
	setvbuf(stdout, NULL, _IOFBF, 65536);
	return strcmp(what, "maps") == 0       ? maps()
	       : strcmp(what, "calls") == 0    ? calls()
	       : strcmp(what, "plugs") == 0    ? plugs()
	       : strcmp(what, "race") == 0     ? race(argv[2])
	       : strcmp(what, "forked") == 0   ? forked(argv[2])
	       : strcmp(what, "hidden") == 0   ? hidden()
	       : strcmp(what, "versions") == 0 ? versions()
	       : strcmp(what, "blocked") == 0  ? blocked()
	       : strcmp(what, "sides") == 0    ? sides(argc - 3, argv + 2, argv[argc - 1])
					       : 2;
}
