/* Programs that let the kernel refuse them things. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "life.h"

/* From here on the system calls in NUMBERS, ended by -1, give ACTION. */
static int refuse(const int *numbers, uint32_t action)
{
	struct sock_filter filter[64] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned short used = 1;
	for (; *numbers >= 0; numbers++) {
		filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (uint32_t)*numbers, 0, 1);
		filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {used, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return -errno;
	}
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

/* What a tracer might want and a sandboxed program has no use for. */
static const int unusual[] = {SYS_openat,
			      SYS_open,
			      SYS_fallocate,
			      SYS_ftruncate,
			      SYS_madvise,
			      SYS_readlinkat,
			      SYS_readlink,
			      SYS_prlimit64,
			      SYS_getrandom,
			      SYS_fstatfs,
			      SYS_membarrier,
			      SYS_getrusage,
			      SYS_unlinkat,
			      SYS_gettid,
			      SYS_fcntl,
			      SYS_sigaltstack,
			      -1};

static jmp_buf before_jump;

static int jump(void *unused)
{
	(void)unused;
	longjmp(before_jump, 1);
}

/* The frames of later calls lie above that of the one that is left. */
static void leave_call(void)
{
	volatile char room[4096];
	room[0] = 0;
	if (!setjmp(before_jump)) {
		life_call(jump, (void *)room);
	}
}

/* life refused errno|kill BEFORE: BEFORE calls, then the filter, then calls,
 * one of which is left. */
static int run_refused(char **arguments)
{
	int kill = strcmp(arguments[0], "kill") == 0;
	life_touch_often(atoi(arguments[1]));
	int r = refuse(unusual, kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM);
	if (r < 0) {
		printf("no filter: %s\n", strerror(-r));
		return 77;
	}
	leave_call();
	life_touch_often(7);
	static const char done[] = "refused and done\n";
	(void)!write(STDOUT_FILENO, done, sizeof(done) - 1); /* stdio would ask the kernel more */
	return 0;
}

/* life refused-vfork: a child in the memory of a process that may not query its ids ends; the
 * process is killed later, and leaves no status. */
static int run_refused_vfork(char **arguments)
{
	static const int nothing[] = {-1};
	(void)arguments;
	signal(SIGCHLD, SIG_IGN);
	pid_t pid = fork();
	if (pid == 0) {
		life_touch_often(1);
		refuse(nothing, 0);
		pid_t own = vfork();
		if (own == 0) {
			_exit(4);
		}
		waitpid(own, NULL, 0);
		life_touch_often(2);
		raise(SIGKILL);
	}
	while (waitpid(pid, NULL, 0) >= 0) {
	}
	puts("all gone");
	return 0;
}

/* What a program with a few libraries gets on without, and a tracer does not; and what both do
 * without. */
static const int wanted[] = {SYS_fallocate, SYS_unlinkat, SYS_getrusage, -1};
static const int unwanted[] = {SYS_reboot, SYS_swapon, -1};

/* life confined errno|kill|idle BEFORE: BEFORE calls; then the filter, under which another image
 * begins, makes three and a child that makes two. */
static int run_confined(char **arguments)
{
	char *const command[] = {"life", "touch-twice", "3", "2", NULL};
	int kill = strcmp(arguments[0], "errno") != 0;
	life_touch_often(atoi(arguments[1]));
	int r = refuse(strcmp(arguments[0], "idle") ? wanted : unwanted,
		       kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM);
	if (r < 0) {
		printf("no filter: %s\n", strerror(-r));
		return 77;
	}
	execv("/proc/self/exe", command);
	return 1;
}

/* life touch-twice COUNT CHILD: COUNT calls, and CHILD more in a child. */
static int run_touch_twice(char **arguments)
{
	life_touch_often(atoi(arguments[0]));
	pid_t pid = fork();
	if (pid == 0) {
		life_touch_often(atoi(arguments[1]));
		_exit(3);
	}
	life_wait(pid);
	return 0;
}

/* Four system calls are left: to read, to write, to end, to return from a handler. */
static int run_strict(char **arguments)
{
	static const char done[] = "strict and done\n";
	life_touch_often(atoi(arguments[0]));
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	life_touch_often(7);
	(void)!write(STDOUT_FILENO, done, sizeof(done) - 1);
	syscall(SYS_exit, 4);
	return 0;
}

/* Reading the time stamp counter kills the process. */
static int run_no_counter(char **arguments)
{
	life_touch_often(atoi(arguments[0]));
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	life_touch_often(2);
	return 0;
}

static atomic_int about_to_call;

/* One thread's first call; how many signals it cannot hear afterwards. */
static void *call_first(void *unused)
{
	sigset_t blocked;
	intptr_t deaf = 0;
	(void)unused;
	atomic_store(&about_to_call, 1);
	life_touch(0);
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	for (int signal = 1; signal < SIGRTMAX; signal++) {
		deaf += sigismember(&blocked, signal) == 1;
	}
	return (void *)deaf;
}

/* In a child: the filter comes while another thread is in its first call, SPINS later each time. */
static int filter_meanwhile(int spins)
{
	static const int none[] = {-1};
	pthread_t thread;
	void *deaf = NULL;
	pthread_create(&thread, NULL, call_first, NULL);
	while (!atomic_load(&about_to_call)) {
	}
	for (volatile int i = 0; i < spins; i++) {
	}
	refuse(none, 0);
	pthread_join(thread, &deaf);
	return deaf != NULL;
}

/* life filter-meanwhile COUNT: in that many children. */
static int run_filter_meanwhile(char **arguments)
{
	int count = atoi(arguments[0]), deaf = 0;
	for (int i = 0; i < count; i++) {
		int status = 0;
		pid_t pid = fork();
		if (pid == 0) {
			_exit(filter_meanwhile(i * 1000));
		}
		waitpid(pid, &status, 0);
		deaf += status != 0;
	}
	printf("%d deaf\n", deaf);
	return 0;
}

#define CROWD 200

static atomic_int crowd_may_call;

/* A first call, with all others; how long it took, in ns. */
static void *call_in_crowd(void *unused)
{
	struct timespec begin, end;
	(void)unused;
	while (!atomic_load(&crowd_may_call)) {
		sched_yield();
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	life_touch(0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (void *)(intptr_t)((end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec -
				  begin.tv_nsec);
}

/* The filter comes while many threads make their first calls: how long the longest of these took.
 */
static intptr_t filter_crowd(void)
{
	static const int none[] = {-1};
	pthread_t threads[CROWD];
	intptr_t longest = 0;
	for (int i = 0; i < CROWD; i++) {
		pthread_create(&threads[i], NULL, call_in_crowd, NULL);
	}
	life_touch(0);
	atomic_store(&crowd_may_call, 1);
	refuse(none, 0);
	for (int i = 0; i < CROWD; i++) {
		void *took = NULL;
		pthread_join(threads[i], &took);
		longest = (intptr_t)took > longest ? (intptr_t)took : longest;
	}
	return longest;
}

/* life filter-crowd COUNT: in that many children; in how many somebody waited for a second. */
static int run_filter_crowd(char **arguments)
{
	int count = atoi(arguments[0]), long_ones = 0;
	for (int i = 0; i < count; i++) {
		int status = 0;
		pid_t pid = fork();
		if (pid == 0) {
			_exit(filter_crowd() >= 1000000000);
		}
		waitpid(pid, &status, 0);
		long_ones += status != 0;
	}
	printf("%d\n", long_ones);
	return 0;
}

static atomic_int enough;

/* How often it added 1. */
static void *count_up(void *word)
{
	intptr_t count = 0;
	for (; !atomic_load(&enough); count++) {
		atomic_fetch_add((atomic_long *)word, 1);
	}
	return (void *)count;
}

/* What is taken from the stack last lies where a call's arguments would, if it had any there. Gives
 * how many of the other thread's additions are missing. */
static __attribute__((noinline)) long call_beside_word(void)
{
	pthread_t thread;
	void *count = NULL;
	atomic_long *word = __builtin_alloca(sizeof(*word));
	atomic_init(word, 0);
	pthread_create(&thread, NULL, count_up, word);
	for (int i = 0; i < 1000000; i++) {
		syscall(SYS_getppid);
	}
	atomic_store(&enough, 1);
	pthread_join(thread, &count);
	return (intptr_t)count - atomic_load(word);
}

/* Another thread writes to a word that lies next to the arguments of system calls. */
static int run_stack_word(char **arguments)
{
	(void)arguments;
	life_touch(0);
	printf("%ld missing\n", call_beside_word());
	return 0;
}

const struct life_case life_sandboxes[] = {
    {"refused", run_refused},
    {"filter-meanwhile", run_filter_meanwhile},
    {"filter-crowd", run_filter_crowd},
    {"strict", run_strict},
    {"no-counter", run_no_counter},
    {"stack-word", run_stack_word},
    {"confined", run_confined},
    {"touch-twice", run_touch_twice},
    {"refused-vfork", run_refused_vfork},
    {NULL, NULL},
};
