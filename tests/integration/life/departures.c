/* departures WAY PLACE [NUMBER]: processes that take PLACE, the run directory, or the path to it,
 * out of their own reach. Each says on stdout what it called and where. test_departures.py knows
 * the rest. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "life.h"

#define NOBODY 65534
#define CHILDREN 3
#define CALLS 1000
#define BATCHES 50
#define STORM 100000
#define THREADS 100

static const char *place;

static int leave_by_user(void)
{
	return setgid(NOBODY) || setuid(NOBODY);
}

static int leave_by_users(void)
{
	return setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY);
}

static int leave_by_root(void)
{
	return chroot("/proc/self") || chdir("/");
}

static int leave_by_mount(void)
{
	return unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("none", place, "tmpfs", 0, NULL);
}

static int stay(void)
{
	return 0;
}

static const struct {
	const char *name;
	int (*leave)(void);
} ways[] = {{"user", leave_by_user},
	    {"users", leave_by_users},
	    {"root", leave_by_root},
	    {"mount", leave_by_mount},
	    {"none", stay}};

static void touch(int count)
{
	for (int i = 0; i < count; i++) {
		life_touch(i);
	}
}

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Of a call, in the quickest of many batches. */
static double least_ns(void)
{
	double least = 1e9;
	for (int i = 0; i < BATCHES; i++) {
		double before = now_ns();
		touch(CALLS);
		double one = (now_ns() - before) / CALLS;
		least = one < least ? one : least;
	}
	return least;
}

static void wait_for_all(void)
{
	int status;
	while (wait(&status) > 0) {
		if (status) {
			printf("child ended with %d\n", WEXITSTATUS(status));
		}
	}
}

/* Children that leave before their first call. */
static int run_children(int (*leave)(void), int unused)
{
	(void)unused;
	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0) {
			if (leave()) {
				exit(77);
			}
			touch(CALLS);
			exit(0);
		}
	}
	wait_for_all();
	return 0;
}

/* A child that leaves, and COUNT children of its own that make their first calls then. */
static int run_generations(int (*leave)(void), int count)
{
	if (fork() == 0) {
		if (leave()) {
			exit(77);
		}
		touch(2);
		fflush(stdout);
		for (int i = 0; i < count; i++) {
			if (fork() == 0) {
				double least = least_ns();
				if (i == 0) {
					printf("%f\n", least);
				}
				exit(i == 0 ? 5 : 0);
			}
			int status;
			wait(&status);
		}
		exit(0);
	}
	wait_for_all();
	return 0;
}

/* A child that leaves; one of it that makes a call, and so on for DEPTH more, each from the one
 * before. They exit with 1, 2, ... and the outermost with 0. */
static int run_descendants(int (*leave)(void), int depth)
{
	int generation = 0;
	if (fork() == 0) {
		if (leave()) {
			exit(77);
		}
		touch(2);
		while (generation <= depth && fork() == 0) {
			touch(1);
			generation++;
		}
		wait(NULL);
		exit(generation);
	}
	wait_for_all();
	return 0;
}

static pthread_barrier_t all;

static void *touch_little(void *unused)
{
	(void)unused;
	touch(10);
	pthread_barrier_wait(&all);
	return NULL;
}

/* Records of a storm take no room away from the counts of threads that begin after it. */
static int run_storm(int (*leave)(void), int unused)
{
	(void)unused;
	touch(1);
	if (leave()) {
		return 77;
	}
	touch(STORM);
	pthread_barrier_init(&all, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, touch_little, NULL);
		pthread_detach(thread);
	}
	pthread_barrier_wait(&all);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int (*leave)(void), int count);
	} cases[] = {{"children", run_children},
		     {"generations", run_generations},
		     {"descendants", run_descendants},
		     {"storm", run_storm}};
	int (*leave)(void) = NULL;
	place = argc > 3 ? argv[3] : "";
	for (unsigned i = 0; argc > 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		leave = strcmp(ways[i].name, argv[2]) == 0 ? ways[i].leave : leave;
	}
	for (unsigned i = 0; leave && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) == 0) {
			return cases[i].run(leave, argc > 4 ? atoi(argv[4]) : 0);
		}
	}
	fprintf(stderr, "no such case\n");
	return 2;
}
