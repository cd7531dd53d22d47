/* told: makes requested calls as often as requested, and reports when that is done.
 *
 * Reads lines "what count" from its standard input and answers each with "done" on its standard
 * output. `one` and `two` are functions of its library, `turns` calls both in turn, `slow` and
 * `brief` call its told_sleep, which sleeps 10 ms for the first and returns at once for the other,
 * `nap` calls its told_nap three times, to sleep as many ns as its line says,
 * `lazy` is strnlen, whose slot the loader resolves at the first call; `step` marks steps; `thread`
 * and `fork` call told_one from a new thread or child; `spin` calls told_one without an end until
 * its input has something to read, and answers with how often it did and how many ns of processor
 * time the last million of them took.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hooktrace.h"
#include "told.h"

#define BATCH 1000000

static volatile int sink;

static void one(long count)
{
	for (long i = 0; i < count; i++) {
		sink = told_one(sink);
	}
}

static void two(long count)
{
	for (long i = 0; i < count; i++) {
		sink = told_two(sink);
	}
}

static void turns(long count)
{
	for (long i = 0; i < count; i++) {
		sink = told_one(sink);
		sink = told_two(sink);
	}
}

static void slow(long count)
{
	for (long i = 0; i < count; i++) {
		sink += told_sleep(10000000);
	}
}

static void brief(long count)
{
	for (long i = 0; i < count; i++) {
		sink += told_sleep(0);
	}
}

static void nap(long ns)
{
	for (int i = 0; i < 3; i++) {
		sink += told_nap(ns);
	}
}

static void step(long count)
{
	static uint64_t number;
	for (long i = 0; i < count; i++) {
		hk_step(number++);
	}
}

static void lazy(long count)
{
	for (long i = 0; i < count; i++) {
		sink += (int)strnlen("text", (size_t)(sink & 3));
	}
}

static void *run_thread(void *count)
{
	one(*(long *)count);
	return NULL;
}

static void thread(long count)
{
	pthread_t id;
	if (pthread_create(&id, NULL, run_thread, &count) == 0) {
		pthread_join(id, NULL);
	}
}

static void child(long count)
{
	pid_t pid = fork();
	if (pid == 0) {
		one(count);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void spin(long unused)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec start, end;
	uint64_t calls = 0;
	(void)unused;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
		one(BATCH);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		calls += BATCH;
	} while (poll(&input, 1, 0) == 0);
	printf("%" PRIu64 " %ld\n", calls,
	       (long)(end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec);
}

static const struct {
	const char *name;
	void (*call)(long count);
} actions[] = {{"one", one},	 {"two", two},	 {"lazy", lazy},   {"thread", thread},
	       {"fork", child},	 {"spin", spin}, {"turns", turns}, {"slow", slow},
	       {"brief", brief}, {"step", step}, {"nap", nap}};

int main(void)
{
	char line[64];
	/* Nothing is read ahead: poll() has to see it, and a child must not have it. */
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		char *space = strchr(line, ' ');
		long count = space ? strtol(space, NULL, 10) : 0;
		for (size_t i = 0; space && i < sizeof(actions) / sizeof(actions[0]); i++) {
			*space = '\0';
			if (strcmp(line, actions[i].name) == 0) {
				actions[i].call(count);
			}
		}
		puts("done");
	}
	return 0;
}
