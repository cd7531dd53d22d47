/* Calls functions from stacks of many shapes: recursion, callbacks of libc, signal handlers,
 * threads, large and realigned frames, generated code, a forked child. Argument: the file for what
 * they note. */
#include "stacks_truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A clone of a function would have another name. */
#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define TIMES 50

static NOINLINE int call_all(int value)
{
	return stacks_plain(value) + stacks_described(value) + stacks_failed(value) + 1;
}

static NOINLINE int recurse(int depth)
{
	return depth > 0 ? recurse(depth - 1) + 1 : call_all(depth) + 1;
}

static NOINLINE int realigned(size_t bytes)
{
	volatile char wide[128] __attribute__((aligned(128)));
	volatile char *room = __builtin_alloca(bytes);
	wide[0] = room[0] = 1;
	return call_all(wide[0]) + room[0];
}

static int compare(const void *a, const void *b)
{
	return call_all(0) * 0 + *(const int *)a - *(const int *)b;
}

static void handle(int number)
{
	call_all(number);
}

static NOINLINE void interrupted(void)
{
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
}

static void *run(void *unused)
{
	recurse(3);
	return unused;
}

#if defined(__x86_64__)
/* A frame pointer, a call of the function in rdi, nothing else. */
static const unsigned char generated[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static int call_back(void)
{
	return stacks_plain(1);
}
#endif

/* Glibc's unwinder stops at generated code: what is noted there is not compared. */
static NOINLINE void call_generated(void)
{
#if defined(__x86_64__)
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*function)(int (*)(void));
	if (page == MAP_FAILED) {
		abort();
	}
	memcpy(page, generated, sizeof(generated));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	memcpy(&function, &page, sizeof(function));
	function(call_back);
#endif
}

static NOINLINE void all(void)
{
	int numbers[] = {2, 1};
	pthread_t thread;

	for (int i = 0; i < TIMES; i++) {
		recurse(i % 5);
		realigned((size_t)(i % 3) * 1000 + 1);
		qsort(numbers, 2, sizeof(int), compare);
	}
	interrupted();
	if (pthread_create(&thread, NULL, run, NULL) == 0) {
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		return 2;
	}
	all();
	stacks_write(argv[1]);
	pid_t child = fork();
	if (child == 0) {
		all();
		stacks_write(argv[1]);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	call_generated();
	return 0;
}
