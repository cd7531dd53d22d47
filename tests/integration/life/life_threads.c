/* Threads: their ends, their number, and signals that come in between. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "life.h"

#define STACK_BYTES (64u << 10)

static pthread_attr_t small(void)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	return attributes;
}

/* ---- what runs when a thread ends ---- */

static pthread_key_t late_key;
static _Atomic int late_rounds;

/* Comes back in every round there is; the tracer's own key is older, so that this runs after it. */
static void late_round(void *thread)
{
	life_touch_often(2);
	late_rounds++;
	pthread_setspecific(late_key, thread);
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;

static void late_local(void *unused)
{
	(void)unused;
	life_touch_often(3);
}

static void *late_thread(void *calls)
{
	if (calls) {
		life_touch_often(1);
	}
	__cxa_thread_atexit_impl(late_local, NULL, &__dso_handle);
	pthread_setspecific(late_key, &late_key);
	return NULL;
}

static int run_late_ends(char **arguments)
{
	(void)arguments;
	pthread_key_create(&late_key, late_round);
	for (long i = 0; i < 20; i++) {
		pthread_t thread;
		/* Every other thread makes its first call only when it ends. */
		pthread_create(&thread, NULL, late_thread, (void *)(i % 2));
		pthread_join(thread, NULL);
	}
	printf("%d rounds\n", (int)late_rounds);
	return 0;
}

/* ---- many ---- */

static pthread_barrier_t together;

static void *crowd_thread(void *unused)
{
	(void)unused;
	life_touch_often(5);
	pthread_barrier_wait(&together);
	life_touch_often(5);
	return NULL;
}

/* All of them alive at the same moment. */
static int run_crowd(char **arguments)
{
	unsigned count = (unsigned)atoi(arguments[0]);
	pthread_t *threads = calloc(count, sizeof(*threads));
	pthread_attr_t attributes = small();
	pthread_barrier_init(&together, NULL, count);
	for (unsigned i = 0; i < count; i++) {
		if (pthread_create(&threads[i], &attributes, crowd_thread, NULL) != 0) {
			return 1;
		}
	}
	for (unsigned i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
	}
	free(threads);
	printf("%u threads\n", count);
	return 0;
}

static long resident_pages(void)
{
	long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2) {
		resident = -1;
	}
	if (file) {
		fclose(file);
	}
	return resident;
}

static void *churn_thread(void *unused)
{
	(void)unused;
	life_touch_often(4);
	return NULL;
}

static void churn(int count, long pause_ns)
{
	pthread_attr_t attributes = small();
	for (int i = 0; i < count; i++) {
		const struct timespec pause = {0, pause_ns};
		pthread_t thread;
		pthread_create(&thread, &attributes, churn_thread, NULL);
		pthread_join(thread, NULL);
		if (pause_ns) {
			nanosleep(&pause, NULL);
		}
	}
}

/* life churn THREADS PER_SECOND FILE: one thread after the other, a tenth of them to warm up; FILE
 * gets the KiB that the process has grown by meanwhile. */
static int run_churn(char **arguments)
{
	int count = atoi(arguments[0]), rate = atoi(arguments[1]);
	long pause_ns = rate ? 1000000000L / rate : 0;
	churn(count / 10, pause_ns);
	long before = resident_pages();
	churn(count - count / 10, pause_ns);
	long grown = (resident_pages() - before) * (sysconf(_SC_PAGESIZE) / 1024);
	FILE *file = fopen(arguments[2], "w");
	if (!file) {
		return 1;
	}
	fprintf(file, "%ld\n", grown);
	fclose(file);
	printf("%d threads\n", count);
	return 0;
}

/* ---- a segment without a collector ---- */

#define ROOMFUL 2200000 /* calls whose records are more than a segment holds */

/* Of one call, where no other process came between. */
static double least_ns(void)
{
	double least = 0;
	for (int batch = 0; batch < 20; batch++) {
		struct timespec begin, end;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		life_touch_often(200);
		clock_gettime(CLOCK_MONOTONIC, &end);
		double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 +
			    (double)(end.tv_nsec - begin.tv_nsec);
		least = batch && least < ns ? least : ns;
	}
	return least / 200;
}

/* What a call takes. */
static int run_least(char **arguments)
{
	(void)arguments;
	printf("%.0f\n", least_ns());
	return 0;
}

/* What a call takes while there is room for its record, and when there is none. */
static int run_room(char **arguments)
{
	(void)arguments;
	life_touch_often(1000);
	double with = least_ns();
	life_touch_often(ROOMFUL);
	printf("%.0f %.0f\n", with, least_ns());
	return 0;
}

/* ---- signals ---- */

static volatile sig_atomic_t ticks;
static volatile long handler_calls;

static int in_handler(void *unused)
{
	(void)unused;
	life_touch(0);
	handler_calls += 2;
	return 0;
}

static void on_tick(int number)
{
	(void)number;
	life_call(in_handler, NULL);
	ticks++;
}

/* A timer's handler calls what the hot loop calls, wherever it finds it: in the call, in the
 * tracer, in the middle of a record. The number of calls is its last word. */
static int run_signal_storm(char **arguments)
{
	struct sigaction action = {.sa_handler = on_tick};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	const struct itimerspec often = {{0, 20000}, {0, 20000}};
	int count = atoi(arguments[0]);
	long calls = 0;
	timer_t timer;
	sigaction(SIGALRM, &action, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &often, NULL);
	while (ticks < count) {
		life_touch(0);
		calls++;
	}
	timer_delete(timer);
	printf("%ld\n", calls + handler_calls);
	return 0;
}

/* life signal-load LIBRARY COUNT: the same while a library with many slots comes and goes. */
static int run_signal_load(char **arguments)
{
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	const struct itimerspec often = {{0, 100000}, {0, 100000}};
	int count = atoi(arguments[1]);
	timer_t timer;
	life_touch(0);
	sigaction(SIGALRM, &action, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &often, NULL);
	while (ticks < count) {
		void *library = dlopen(arguments[0], RTLD_NOW);
		if (!library) {
			return 1;
		}
		dlclose(library);
	}
	timer_delete(timer);
	printf("%ld\n", handler_calls + 1);
	return 0;
}

static void *storm_thread(void *calls)
{
	life_touch_often(*(int *)calls);
	return NULL;
}

/* The same at the beginning and end of threads: their first calls and their last. */
static int run_signal_threads(char **arguments)
{
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	int count = atoi(arguments[0]), calls = 3;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < count; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, storm_thread, &calls);
		pthread_kill(thread, SIGUSR1);
		pthread_join(thread, NULL);
	}
	printf("%ld\n", handler_calls + (long)count * calls);
	return 0;
}

/* ---- static TLS ---- */

/* life tls DIRECTORY COUNT: loads DIRECTORY/0.so ... until one finds no room. */
static int run_tls(char **arguments)
{
	int count = atoi(arguments[1]), loaded = 0;
	char path[512];
	for (; loaded < count; loaded++) {
		snprintf(path, sizeof(path), "%s/%d.so", arguments[0], loaded);
		void *library = dlopen(path, RTLD_NOW);
		if (!library) {
			break;
		}
		int (*use)(void) = (int (*)(void))dlsym(library, "static_tls_use");
		life_touch(use());
	}
	printf("%d loaded\n", loaded);
	return loaded == count;
}

/* ---- calls that the holder of the loader's lock waits for ---- */

static void *touch_once(void *unused)
{
	life_touch(0);
	return unused;
}

static int wait_for_calls(struct dl_phdr_info *info, size_t size, void *unused)
{
	pthread_t thread;
	(void)info;
	(void)size;
	(void)unused;
	pthread_create(&thread, NULL, touch_once, NULL);
	pthread_join(thread, NULL);
	life_touch(0);
	return 1;
}

static int run_loader_held(char **arguments)
{
	int rounds = atoi(arguments[0]);
	for (int i = 0; i < rounds; i++) {
		dl_iterate_phdr(wait_for_calls, NULL);
	}
	return 0;
}

const struct life_case life_threads[] = {
    {"loader-held", run_loader_held},
    {"late-ends", run_late_ends},
    {"crowd", run_crowd},
    {"churn", run_churn},
    {"least", run_least},
    {"room", run_room},
    {"signal-storm", run_signal_storm},
    {"signal-threads", run_signal_threads},
    {"signal-load", run_signal_load},
    {"tls", run_tls},
    {NULL, NULL},
};
