/* Ways to begin and to end a process image. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "life.h"

extern char **environ;

#define SELF "/proc/self/exe"

static int first_errno;

/* Before main, and after the constructors of all libraries. */
__attribute__((constructor)) static void begin(void)
{
	first_errno = errno;
}

/* Programs print an unset errno, as "Success". */
static int run_errno(char **arguments)
{
	(void)arguments;
	printf("errno begins as %d\n", first_errno);
	life_touch_often(1);
	return 0;
}

static int run_touch(char **arguments)
{
	life_touch_often(atoi(arguments[0]));
	return 0;
}

static int run_spawn(char **arguments)
{
	(void)arguments;
	char *const command[] = {"life", "touch", "3", NULL};
	pid_t pid;
	life_touch_often(2);
	if (posix_spawn(&pid, SELF, NULL, NULL, command, environ) != 0) {
		return 1;
	}
	life_wait(pid);
	return 0;
}

static int run_vfork_exec(char **arguments)
{
	(void)arguments;
	char *const command[] = {"life", "touch", "3", NULL};
	life_touch_often(2);
	pid_t pid = vfork();
	if (pid == 0) {
		life_touch(0); /* the parent's */
		execv(SELF, command);
		_exit(127);
	}
	life_wait(pid);
	return 0;
}

/* Each image makes one call and becomes the next. */
static int run_exec_chain(char **arguments)
{
	int left = atoi(arguments[0]);
	char number[16];
	snprintf(number, sizeof(number), "%d", left - 1);
	char *const command[] = {"life", "exec-chain", number, NULL};
	life_touch_often(1);
	if (left > 0) {
		execv(SELF, command);
	}
	puts("end of the chain");
	return 5;
}

static int end_inside(void *code)
{
	_exit((int)(long)code);
}

static int wait_inside(void *started)
{
	(*(_Atomic int *)started)++;
	for (;;) {
		pause();
	}
	return 0;
}

static void *waiting_thread(void *started)
{
	life_call(wait_inside, started);
	return NULL;
}

static void *exec_thread(void *unused)
{
	char *const command[] = {"life", "touch", "3", NULL};
	(void)unused;
	life_touch_often(2);
	execv(SELF, command);
	return NULL;
}

/* Another thread than the first replaces the program, while a third is inside a call. */
static int run_exec_thread(char **arguments)
{
	(void)arguments;
	_Atomic int started = 0;
	pthread_t waiting, executing;
	pthread_create(&waiting, NULL, waiting_thread, &started);
	while (!started) {
		usleep(100);
	}
	pthread_create(&executing, NULL, exec_thread, NULL);
	pthread_join(executing, NULL);
	return 1;
}

static int run_exec_fails(char **arguments)
{
	(void)arguments;
	char *const command[] = {"nothing", NULL};
	life_touch_often(2);
	for (int i = 0; i < 3; i++) {
		execv("/nonexistent/program", command);
		life_touch_often(2);
	}
	puts("still here");
	return 0;
}

static int run_end_now(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	_exit(5);
}

static int run_end_c99(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	_Exit(6);
}

static int run_end_raw(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	syscall(SYS_exit_group, 7);
	return 0;
}

static int run_end_inside(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	return life_call(end_inside, (void *)8L);
}

static void touch_twice(void)
{
	life_touch_often(2);
}

static int run_end_quickly(char **arguments)
{
	(void)arguments;
	at_quick_exit(touch_twice);
	life_touch_often(1);
	quick_exit(9);
}

static int run_end_killed(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	raise(SIGKILL);
	return 0;
}

static int run_end_aborted(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	abort();
}

static int in_order;

/* Runs after every handler of atexit and on_exit, the tracer's own included. */
__attribute__((destructor)) static void last_words(void)
{
	if (in_order) {
		life_touch_often(4);
		puts("destructor");
		fflush(stdout);
	}
}

static int run_end_in_order(char **arguments)
{
	(void)arguments;
	in_order = 1;
	atexit(touch_twice);
	life_touch_often(1);
	return 10;
}

static void *leave_thread(void *started)
{
	while (!*(_Atomic int *)started) {
		usleep(100);
	}
	life_touch_often(2);
	exit(11);
}

/* exit() by another thread, while the first is inside a call. */
static int run_end_by_thread(char **arguments)
{
	(void)arguments;
	_Atomic int started = 0;
	pthread_t thread;
	pthread_create(&thread, NULL, leave_thread, &started);
	life_call(wait_inside, &started);
	return 0;
}

static void *outlive_main(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	life_touch_often(3);
	puts("outlived");
	return NULL;
}

/* The first thread leaves before the others. */
static int run_end_main_thread(char **arguments)
{
	(void)arguments;
	static pthread_t first;
	pthread_t thread;
	first = pthread_self();
	life_touch_often(1);
	pthread_create(&thread, NULL, outlive_main, &first);
	pthread_exit(NULL);
}

const struct life_case life_images[] = {
    {"errno", run_errno},
    {"touch", run_touch},
    {"spawn", run_spawn},
    {"vfork-exec", run_vfork_exec},
    {"exec-chain", run_exec_chain},
    {"exec-thread", run_exec_thread},
    {"exec-fails", run_exec_fails},
    {"end-now", run_end_now},
    {"end-c99", run_end_c99},
    {"end-raw", run_end_raw},
    {"end-inside", run_end_inside},
    {"end-quickly", run_end_quickly},
    {"end-killed", run_end_killed},
    {"end-aborted", run_end_aborted},
    {"end-in-order", run_end_in_order},
    {"end-by-thread", run_end_by_thread},
    {"end-main-thread", run_end_main_thread},
    {NULL, NULL},
};
