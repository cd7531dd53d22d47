/* whereabouts.c: threads that are in known functions, for tests that ask where they are.
 *
 * `places`: one thread each in in_read, in_lock, in_sleep, in_spin, in_sealed (all signals blocked)
 * and in_wait (a condition, as a pool has it). The main thread is in in_main. Prints at the end how
 * often the sleep was interrupted.
 *
 * `storm N`: N threads allocate and free in storm(), and one reads a pipe that another one fills.
 * Prints at the end the number of allocations, of reads that came to nothing by EINTR, and of bytes
 * that were not what they should be.
 *
 * `small`: the alternate signal stack of the main thread is the smallest that Linux permits.
 *
 * `own`: it handles SIGURG itself. Prints at the end how often that came.
 *
 * `hidden`: prints what it sees of SIGURG before, while and after it has a handler of its own.
 *
 * Each prints "ready" when it is, and ends with its input.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLACES 6
#define BLOCKS 64
#define THREADS_MAX 64

#define PLACE __attribute__((noinline)) static void

static int never[2]; /* a pipe into which nothing is written */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static atomic_int there, stop;
static atomic_long allocations, interrupted, damaged, urgent, woken;
static volatile uint64_t sink;

/* What comes after each call keeps the compiler from making it a jump. */

PLACE in_read(void)
{
	char byte;
	sink += (uint64_t)read(never[0], &byte, 1);
}

PLACE in_lock(void)
{
	sink += (uint64_t)pthread_mutex_lock(&held);
}

PLACE in_sleep(void)
{
	const struct timespec hour = {3600, 0};
	for (;;) {
		woken += nanosleep(&hour, NULL) < 0;
	}
}

PLACE in_spin(void)
{
	for (;;) {
		sink = sink * 3 + 1;
	}
}

PLACE in_sealed(void)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	in_read();
	sink++;
}

PLACE in_wait(void)
{
	pthread_mutex_lock(&pool);
	for (;;) {
		pthread_cond_wait(&work, &pool);
	}
}

PLACE in_main(void)
{
	char byte;
	while (read(STDIN_FILENO, &byte, 1) > 0) {
		sink++;
	}
}

static void (*const places[PLACES])(void) = {in_read, in_lock,	 in_sleep,
					     in_spin, in_sealed, in_wait};

static void *stay(void *place)
{
	atomic_fetch_add(&there, 1);
	places[(intptr_t)place]();
	return NULL;
}

static void *storm(void *unused)
{
	unsigned char *blocks[BLOCKS] = {NULL};
	size_t sizes[BLOCKS] = {0};
	unsigned seed = (unsigned)(uintptr_t)&blocks;
	long wrong = 0, made = 0;

	(void)unused;
	there++;
	while (!stop) {
		size_t i = (size_t)rand_r(&seed) % BLOCKS;
		for (size_t k = 0; k < sizes[i]; k++) {
			wrong += blocks[i][k] != (unsigned char)i;
		}
		free(blocks[i]);
		sizes[i] = (size_t)rand_r(&seed) % 512;
		blocks[i] = malloc(sizes[i]);
		memset(blocks[i], (int)i, sizes[i]);
		made++;
	}
	damaged += wrong;
	allocations += made;
	return NULL;
}

static void *drink(void *ends)
{
	char byte;
	ssize_t got;
	there++;
	while ((got = read(*(int *)ends, &byte, 1)) != 0) {
		interrupted += got < 0 && errno == EINTR;
	}
	return NULL;
}

static void *pour(void *ends)
{
	const struct timespec pause = {0, 2000000};
	there++;
	while (!stop) {
		sink += (uint64_t)write(((int *)ends)[1], "x", 1);
		nanosleep(&pause, NULL);
	}
	close(((int *)ends)[1]);
	return NULL;
}

/* Waits for COUNT threads, then for the end of the input. */
PLACE come(int count)
{
	while (there < count) {
		sched_yield();
	}
	puts("ready");
	fflush(stdout);
	in_main();
	sink++;
}

PLACE be_in_places(void)
{
	pthread_t thread;
	pthread_mutex_lock(&held);
	for (intptr_t i = 0; i < PLACES; i++) {
		pthread_create(&thread, NULL, stay, (void *)i);
	}
	come(PLACES);
	printf("%ld\n", (long)woken);
}

static void rage(int count)
{
	pthread_t threads[THREADS_MAX + 2];
	int ends[2];
	if (pipe(ends) < 0) {
		return;
	}
	count = count < THREADS_MAX ? count : THREADS_MAX;
	for (int i = 0; i < count; i++) {
		pthread_create(&threads[i], NULL, storm, NULL);
	}
	pthread_create(&threads[count], NULL, drink, ends);
	pthread_create(&threads[count + 1], NULL, pour, ends);
	come(count + 2);
	stop = 1;
	for (int i = 0; i < count + 2; i++) {
		pthread_join(threads[i], NULL);
	}
	printf("%ld %ld %ld\n", (long)allocations, (long)interrupted, (long)damaged);
}

/* What MINSIGSTKSZ was before processors had more registers. */
static void be_small(void)
{
	static char bytes[2048];
	const stack_t stack = {.ss_sp = bytes, .ss_size = sizeof(bytes)};
	if (sigaltstack(&stack, NULL) < 0) {
		perror("whereabouts: no such stack here");
	}
	come(0);
	puts("0");
}

static void take_urgent(int signal)
{
	(void)signal;
	urgent++;
}

static void handle_urgent(void)
{
	signal(SIGURG, take_urgent);
	come(0);
	printf("%ld\n", (long)urgent);
}

static void show_urgent(void)
{
	struct sigaction action;
	sigaction(SIGURG, NULL, &action);
	puts(action.sa_handler == SIG_DFL	? "default"
	     : action.sa_handler == take_urgent ? "own"
						: "another");
}

static void see_urgent(void)
{
	const struct sigaction own = {.sa_handler = take_urgent}, none = {.sa_handler = SIG_DFL};
	struct sigaction old;
	show_urgent();
	sigaction(SIGURG, &own, &old);
	puts(old.sa_handler == SIG_DFL ? "default" : "another");
	show_urgent();
	raise(SIGURG);
	puts(signal(SIGURG, SIG_DFL) == take_urgent && urgent == 1 ? "own" : "another");
	show_urgent();
	sigaction(SIGURG, &none, &old);
	puts(old.sa_handler == SIG_DFL ? "default" : "another");
	raise(SIGURG);
	come(0);
}

static void *outlive(void *unused)
{
	come(0);
	exit(0);
	return unused;
}

/* The first thread ends, and another one continues. */
static void leave_early(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, outlive, NULL) == 0) {
		pthread_exit(NULL);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (pipe(never) < 0) {
		return 1;
	}
	if (strcmp(what, "places") == 0) {
		be_in_places();
	} else if (strcmp(what, "storm") == 0) {
		rage(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 4);
	} else if (strcmp(what, "small") == 0) {
		be_small();
	} else if (strcmp(what, "early") == 0) {
		leave_early();
	} else if (strcmp(what, "own") == 0) {
		handle_urgent();
	} else if (strcmp(what, "hidden") == 0) {
		see_urgent();
	} else {
		return 2;
	}
	return 0;
}
