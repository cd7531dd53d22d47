/* Ways to make a process that is a copy of this one, or shares its memory. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "life.h"

#define STACK_BYTES (256u << 10)

/* In the child: COUNT calls and out, without this process's own exit handlers. */
static void be_child(pid_t pid, int count)
{
	if (pid == 0) {
		life_touch_often(count);
		_exit(3);
	}
}

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

static int run_fork(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	pid_t pid = fork();
	be_child(pid, 5);
	life_wait(pid);
	life_touch_often(1);
	return 0;
}

/* The child can open no file, and continues without a segment. */
static int run_fork_no_files(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	pid_t pid = fork();
	if (pid == 0) {
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
	}
	be_child(pid, 5);
	life_wait(pid);
	life_touch_often(1);
	return 0;
}

/* The child's first deed is to look a function up; then the parent looks for another one. */
static int run_fork_look_up(char **arguments)
{
	(void)arguments;
	life_touch_often(1);
	pid_t pid = fork();
	if (pid == 0) {
		int (*touch)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "life_touch");
		touch(touch(touch(0)));
		_exit(3);
	}
	life_wait(pid);
	int (*call)(int (*)(void *), void *) =
	    (int (*)(int (*)(void *), void *))dlsym(RTLD_DEFAULT, "life_call");
	return call(nothing, NULL) + call(nothing, NULL);
}

/* Before any hooked call there is less to inherit. */
static int run_fork_first(char **arguments)
{
	(void)arguments;
	pid_t pid = fork();
	be_child(pid, 5);
	life_wait(pid);
	life_touch_often(1);
	return 0;
}

static int fork_here(void *unused)
{
	(void)unused;
	life_touch_often(1);
	pid_t pid = fork();
	life_touch_often(4);
	return pid;
}

/* Both return through a call that only the parent has made. */
static int run_fork_inside(char **arguments)
{
	(void)arguments;
	pid_t pid = life_call(fork_here, NULL);
	life_touch_often(2);
	if (pid == 0) {
		return 9;
	}
	life_wait(pid);
	return 0;
}

static void at_fork(void)
{
	life_touch_often(2);
}

static int run_fork_handlers(char **arguments)
{
	(void)arguments;
	pthread_atfork(at_fork, at_fork, at_fork);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		be_child(pid, 1);
		life_wait(pid);
	}
	return 0;
}

static int run_fork_generations(char **arguments)
{
	(void)arguments;
	for (int generation = 0; generation < 4; generation++) {
		life_touch_often(1);
		fflush(stdout);
		pid_t pid = fork();
		if (pid != 0) {
			life_wait(pid);
			return generation;
		}
	}
	return 4;
}

/* Many at once, most of them unseen by the collector while they live. */
static int run_fork_storm(char **arguments)
{
	int count = atoi(arguments[0]), ended = 0;
	for (int i = 0; i < count; i++) {
		be_child(fork(), 2);
	}
	while (wait(NULL) > 0) {
		ended++;
	}
	printf("%d children\n", ended);
	return 0;
}

/* The same, and all of them alive at one moment. */
static int run_fork_crowd(char **arguments)
{
	int count = atoi(arguments[0]), calls = atoi(arguments[1]), ended = 0, go[2];
	char byte;
	if (pipe(go) < 0) {
		return 1;
	}
	for (int i = 0; i < count; i++) {
		if (fork() == 0) {
			close(go[1]);
			life_touch_often(calls);
			(void)!read(go[0], &byte, 1);
			life_touch_often(1);
			_exit(3);
		}
	}
	close(go[1]);
	while (wait(NULL) > 0) {
		ended++;
	}
	printf("%d children\n", ended);
	return 0;
}

static pthread_barrier_t in_callback;

/* Holds the loader's lock for ever. */
static int stay_in_loader(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info, (void)size, (void)unused;
	pthread_barrier_wait(&in_callback);
	for (;;) {
		pause();
	}
	return 1;
}

static void *loader_thread(void *unused)
{
	dl_iterate_phdr(stay_in_loader, unused);
	return NULL;
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* life fork-loader SECONDS: a thread is inside the loader when another forks. The child finds the
 * loader's lock taken by a thread that does not exist, and calls for SECONDS while the tracer is
 * asked to look for new objects. */
static int run_fork_loader(char **arguments)
{
	pthread_t thread;
	pthread_barrier_init(&in_callback, NULL, 2);
	pthread_create(&thread, NULL, loader_thread, NULL);
	pthread_barrier_wait(&in_callback);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		const struct timespec pause = {0, 1000000};
		double end = seconds() + atof(arguments[0]);
		long calls = 0;
		while (seconds() < end) {
			life_touch(0);
			calls++;
			nanosleep(&pause, NULL);
		}
		dlsym(RTLD_DEFAULT, "no_such_function");
		printf("%ld\n", calls);
		fflush(stdout);
		_exit(3);
	}
	life_wait(pid);
	fflush(stdout);
	_exit(0);
}

static int run_vfork(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	pid_t pid = vfork();
	if (pid == 0) {
		life_touch(0); /* in the parent's memory, and its own call */
		_exit(4);
	}
	life_wait(pid);
	life_touch_often(1);
	return 0;
}

static int run_underscore_fork(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	pid_t pid = _Fork();
	be_child(pid, 2);
	life_wait(pid);
	return 0;
}

/* Neither libc nor its handlers know of this one. */
static int run_raw_fork(char **arguments)
{
	(void)arguments;
	life_touch_often(2);
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	be_child(pid, 2);
	life_wait(pid);
	return 0;
}

static int clone_main(void *count)
{
	life_touch_often((int)(long)count);
	return 6;
}

static int clone_with(int flags)
{
	char *stack =
	    mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	life_touch_often(2);
	pid_t pid = clone(clone_main, stack + STACK_BYTES, flags | SIGCHLD, (void *)3L);
	life_wait(pid);
	life_touch_often(1);
	return 0;
}

static int run_clone_copy(char **arguments)
{
	(void)arguments;
	return clone_with(0);
}

static int run_clone_shared(char **arguments)
{
	(void)arguments;
	return clone_with(CLONE_VM);
}

static int run_clone_vfork(char **arguments)
{
	(void)arguments;
	return clone_with(CLONE_VM | CLONE_VFORK);
}

static int clone_here(void *unused)
{
	(void)unused;
	return clone_with(CLONE_VM);
}

static int run_clone_inside(char **arguments)
{
	(void)arguments;
	return life_call(clone_here, NULL);
}

/* Two forks, a session of its own, and work that begins when everybody above is gone. */
static int run_daemon(char **arguments)
{
	(void)arguments;
	int gone[2];
	char byte;
	if (pipe(gone) < 0) {
		return 1;
	}
	life_touch_often(1);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			close(gone[1]);
			if (read(gone[0], &byte, 1) == 0) {
				life_touch_often(5);
				puts("daemon done");
			}
			return 0;
		}
		_exit(0);
	}
	wait(NULL);
	puts("daemon started");
	return 0;
}

static volatile sig_atomic_t handled;
static timer_t fork_timer;

/* Once: a fork may take longer than any interval. */
static void set_fork_timer(void)
{
	const struct itimerspec soon = {{0, 0}, {0, 300000}};
	timer_settime(fork_timer, 0, &soon, NULL);
}

static void fork_in_handler(int number)
{
	(void)number;
	pid_t pid = fork();
	be_child(pid, 2);
	waitpid(pid, NULL, 0);
	handled++;
	set_fork_timer();
}

/* Forks wherever the timer finds the hot loop. The number of calls of the parent is its last word.
 */
static int run_fork_in_handler(char **arguments)
{
	struct sigaction action = {.sa_handler = fork_in_handler};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	int count = atoi(arguments[0]);
	long calls = 0;
	sigaction(SIGALRM, &action, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &fork_timer);
	set_fork_timer();
	while (handled < count) {
		life_touch(0);
		calls++;
	}
	timer_delete(fork_timer);
	printf("%d %ld\n", (int)handled, calls);
	return 0;
}

const struct life_case life_processes[] = {
    {"fork", run_fork},
    {"fork-no-files", run_fork_no_files},
    {"fork-look-up", run_fork_look_up},
    {"fork-first", run_fork_first},
    {"fork-inside", run_fork_inside},
    {"fork-handlers", run_fork_handlers},
    {"fork-generations", run_fork_generations},
    {"fork-storm", run_fork_storm},
    {"fork-crowd", run_fork_crowd},
    {"fork-in-handler", run_fork_in_handler},
    {"fork-loader", run_fork_loader},
    {"vfork", run_vfork},
    {"_Fork", run_underscore_fork},
    {"raw-fork", run_raw_fork},
    {"clone-copy", run_clone_copy},
    {"clone-shared", run_clone_shared},
    {"clone-vfork", run_clone_vfork},
    {"clone-inside", run_clone_inside},
    {"daemon", run_daemon},
    {NULL, NULL},
};
