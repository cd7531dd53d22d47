/* attach_truth THREADS|malloc: a busy program that hookcli attaches to.
 *
 * THREADS threads call functions of the library all the time and check their results. Or, with
 * "malloc", the only thread is in malloc and free nearly always. Commands come by standard input:
 * "mark N" makes each thread call late_marked N times, "fork N" a child, "load N PATH" a library
 * that is opened now, and "thread N" a thread that begins now. Each prints "marked TOTAL". "end"
 * prints "right" or "wrong" and ends the program.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "late_library.h"

#define THREADS_MAX 16
#define BLOCKS 64
#define LOOK_EVERY 4096

static atomic_long mark_number, mark_calls, marked, finished;
static atomic_int wrong, stopping;

static void check(int holds)
{
	if (!holds) {
		atomic_store(&wrong, 1);
	}
}

static void make_marked_calls(long count)
{
	for (long i = 0; i < count; i++) {
		check(late_marked(i) == (i ^ 0x55));
	}
	atomic_fetch_add(&marked, count);
}

static void *work(void *unused)
{
	long seen = 0;
	for (long i = 0; !atomic_load(&stopping); i++) {
		check(late_work(i) == i * 3 + 1);
		check(late_many(1, 2, 3, 4, 5, 6, 7, 0.5, i) == (double)(28 + i) + 0.5);
		if (atomic_load(&mark_number) != seen) {
			seen = atomic_load(&mark_number);
			make_marked_calls(atomic_load(&mark_calls));
			atomic_fetch_add(&finished, 1);
		}
	}
	return unused;
}

static void mark_in_child(long count)
{
	int status = 1;
	pid_t pid = fork();
	if (pid == 0) {
		make_marked_calls(count);
		exit(atomic_load(&wrong));
	}
	check(waitpid(pid, &status, 0) == pid && status == 0);
	atomic_fetch_add(&marked, count);
}

static void mark_in_library(long count, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	long (*use)(long) = handle ? (long (*)(long))dlsym(handle, "late_use") : NULL;
	check(use && use(count) == count);
	atomic_fetch_add(&marked, count);
}

static void *mark_in_thread(void *count)
{
	make_marked_calls(*(long *)count);
	return NULL;
}

static void mark(long count, int threads)
{
	atomic_store(&finished, 0);
	atomic_store(&mark_calls, count);
	if (threads == 0) {
		make_marked_calls(count);
	}
	atomic_fetch_add(&mark_number, 1);
	while (atomic_load(&finished) < threads) {
		usleep(100);
	}
}

/* Takes a line of commands. Returns 0 at the end. */
static int obey(const char *line, int threads)
{
	char path[512];
	pthread_t thread;
	long count;
	atomic_store(&marked, 0);
	if (sscanf(line, "mark %ld", &count) == 1) {
		mark(count, threads);
	} else if (sscanf(line, "fork %ld", &count) == 1) {
		mark_in_child(count);
	} else if (sscanf(line, "load %ld %511s", &count, path) == 2) {
		mark_in_library(count, path);
	} else if (sscanf(line, "thread %ld", &count) == 1) {
		pthread_create(&thread, NULL, mark_in_thread, &count);
		pthread_join(thread, NULL);
	} else {
		return 0;
	}
	printf("marked %ld\n", atomic_load(&marked));
	fflush(stdout);
	return 1;
}

/* One block in so many is filled, and checked before it is freed. */
static void churn(void)
{
	static unsigned char *blocks[BLOCKS];
	static unsigned number;
	for (int i = 0; i < LOOK_EVERY; i++) {
		unsigned at = number++ % BLOCKS;
		check(!blocks[at] || *blocks[at] == (unsigned char)at);
		free(blocks[at]);
		blocks[at] = malloc(16 + number * 37 % 4000);
		if (blocks[at]) {
			*blocks[at] = (unsigned char)at;
		}
	}
}

static void run_in_malloc(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	char line[640];
	int goes_on = 1;
	while (goes_on) {
		churn();
		if (poll(&input, 1, 0) > 0) {
			goes_on = fgets(line, sizeof(line), stdin) && obey(line, 0);
		}
	}
}

static void run_threads(int threads)
{
	pthread_t thread[THREADS_MAX];
	char line[640];
	for (int i = 0; i < threads; i++) {
		pthread_create(&thread[i], NULL, work, NULL);
	}
	while (fgets(line, sizeof(line), stdin) && obey(line, threads)) {
	}
	atomic_store(&stopping, 1);
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	if (argc < 2 || threads > THREADS_MAX) {
		return 2;
	}
	puts("ready");
	fflush(stdout);
	if (strcmp(argv[1], "malloc") == 0) {
		run_in_malloc();
	} else {
		run_threads(threads);
	}
	puts(atomic_load(&wrong) ? "wrong" : "right");
	return atomic_load(&wrong);
}
