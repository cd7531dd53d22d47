/* locked LIBRARY [ROUNDS]: a thread in a callback of dl_iterate_phdr wants a mutex; another one
 * makes a call under that mutex; a third one opened LIBRARY, unseen, just before. None of the
 * three may wait for ever. With ROUNDS all three do so again and again, each for itself.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t called, held;
static atomic_bool stop;
static long calls;

/* Pointers in a table are nothing that the agent would change. */
static const struct {
	void *(*open)(const char *path, int mode);
} volatile unseen = {dlopen};

static void start(pthread_t *thread, void *(*function)(void *), void *argument)
{
	if (pthread_create(thread, NULL, function, argument)) {
		abort();
	}
}

static void call(void)
{
	calls += getppid() >= 0;
}

/* ---- once, in the worst order ---- */

static int want_mutex(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info;
	(void)size;
	(void)unused;
	pthread_barrier_wait(&called);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return 1;
}

static void *read_list(void *unused)
{
	pthread_barrier_wait(&held);
	dl_iterate_phdr(want_mutex, unused);
	return NULL;
}

static void *call_locked(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&held);
	pthread_barrier_wait(&called);
	call();
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *call_once(void *unused)
{
	call();
	return unused;
}

static void once(const char *library)
{
	pthread_t reader, caller, later;
	pthread_barrier_init(&called, NULL, 2);
	pthread_barrier_init(&held, NULL, 2);
	void *handle = unseen.open(library, RTLD_NOW);
	start(&reader, read_list, NULL);
	start(&caller, call_locked, NULL);
	pthread_join(reader, NULL);
	pthread_join(caller, NULL);
	/* A thread's first call looks for what is new, and now it can. */
	start(&later, call_once, NULL);
	pthread_join(later, NULL);
	int (*function)(void) = handle ? (int (*)(void))dlsym(handle, "other_call") : NULL;
	calls += function ? function() : 0;
}

/* ---- again and again ---- */

static int lock_shortly(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info;
	(void)size;
	(void)unused;
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return 0;
}

static void *read_on(void *unused)
{
	while (!atomic_load(&stop)) {
		dl_iterate_phdr(lock_shortly, NULL);
	}
	return unused;
}

static void *call_shortly(void *unused)
{
	pthread_mutex_lock(&mutex);
	call();
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* A thread's first call looks for what is new. */
static void *call_on(void *unused)
{
	while (!atomic_load(&stop)) {
		pthread_t thread;
		start(&thread, call_shortly, NULL);
		pthread_join(thread, NULL);
	}
	return unused;
}

static void again(const char *library, int rounds)
{
	pthread_t reader, caller;
	start(&reader, read_on, NULL);
	start(&caller, call_on, NULL);
	for (int i = 0; i < rounds; i++) {
		void *handle = i % 2 ? dlopen(library, RTLD_NOW) : unseen.open(library, RTLD_NOW);
		if (!handle) {
			abort();
		}
		dlclose(handle);
	}
	atomic_store(&stop, true);
	pthread_join(reader, NULL);
	pthread_join(caller, NULL);
}

int main(int argc, char **argv)
{
	/* Much more than needed: a thread that waits for ever is ended. */
	alarm(120);
	if (argc > 2) {
		again(argv[1], atoi(argv[2]));
	} else {
		once(argv[1]);
	}
	printf("calls %ld\n", calls);
	return 0;
}
