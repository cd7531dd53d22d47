/* limits threads NUMBER: how many mappings the process has before and with so many threads.
 * limits lock BYTES: locks all its memory, now and to come, where it may lock BYTES; then works on.
 * test_limits.py knows what they call. */
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "life.h"

#define NOBODY 65534
#define LOCKING_THREADS 8
#define STACK_BYTES 65536

static pthread_barrier_t begun, done;

static void *touch(void *unused)
{
	(void)unused;
	life_touch(1);
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&done);
	return NULL;
}

static int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int count = 0;
	for (int c = 0; maps && c != EOF; c = getc(maps)) {
		count += c == '\n';
	}
	if (maps) {
		fclose(maps);
	}
	return count;
}

/* COUNT threads, all there at once; the number that could not begin. */
static int run_threads(int count, int *ret_mappings)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t attributes;
	int failed = 0;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_barrier_init(&begun, NULL, (unsigned)count + 1);
	pthread_barrier_init(&done, NULL, (unsigned)count + 1);
	for (int i = 0; i < count && !failed; i++) {
		failed = pthread_create(&threads[i], &attributes, touch, NULL);
	}
	if (failed) {
		return failed;
	}
	pthread_barrier_wait(&begun);
	*ret_mappings = count_mappings();
	pthread_barrier_wait(&done);
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
	}
	free(threads);
	return 0;
}

static int show_mappings(int count)
{
	int after = 0;
	life_touch(1);
	int before = count_mappings();
	if (run_threads(count, &after)) {
		return 1;
	}
	printf("%d\n", after - before);
	return 0;
}

static int lock_all(rlim_t bytes)
{
	const struct rlimit limit = {bytes, bytes};
	int unused;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgroups(0, NULL) || setgid(NOBODY) ||
	    setuid(NOBODY)) {
		return 77;
	}
	life_touch(1);
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("mlockall");
		return 1;
	}
	void *memory = malloc(1000000);
	int failed = run_threads(LOCKING_THREADS, &unused);
	printf("%d %s\n", memory != NULL, strerror(failed));
	free(memory);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "threads") == 0) {
		return show_mappings(atoi(argv[2]));
	}
	if (argc == 3 && strcmp(argv[1], "lock") == 0) {
		return lock_all(strtoul(argv[2], NULL, 10));
	}
	fprintf(stderr, "no such case\n");
	return 2;
}
