#include "base/room.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define STACK_LEAST ((size_t)1 << 20)
#define STACK_BYTES ((size_t)8 << 20)
#define THREADS 32		       /* NNG's, on a large machine */
#define ROOM_AMPLE (UINT64_C(4) << 30) /* bytes of address space that are enough for sure */
#define TASKS_AMPLE 4096u	       /* RLIMIT_NPROC counts what else the user runs */

static struct {
	int (*program)(int argc, char **argv);
	int argc, status;
	char **argv;
} call;

static void enter(void)
{
	call.status = call.program(call.argc, call.argv);
}

/* A thread's stack is as large as ulimit -s by default: too small, or more address space than there
 * is. */
static void set_thread_stacks(void)
{
	pthread_attr_t attributes;

	if (pthread_attr_init(&attributes) == 0) {
		pthread_attr_setstacksize(&attributes, STACK_LEAST);
		pthread_setattr_default_np(&attributes);
		pthread_attr_destroy(&attributes);
	}
}

int hk_room_main(int (*program)(int argc, char **argv), int argc, char **argv)
{
	static ucontext_t outer, inner;
	struct rlimit limit;

	set_thread_stacks();
	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_LEAST ||
	    getcontext(&inner) < 0) {
		return program(argc, argv);
	}
	void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED) {
		return program(argc, argv);
	}
	call.program = program;
	call.argc = argc;
	call.argv = argv;
	inner.uc_stack.ss_sp = stack;
	inner.uc_stack.ss_size = STACK_BYTES;
	inner.uc_link = &outer;
	makecontext(&inner, enter, 0);
	swapcontext(&outer, &inner);
	return call.status;
}

static bool is_ample(int resource, rlim_t ample)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) < 0 || limit.rlim_cur >= ample;
}

static void *await(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

int hk_room_threads(void)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t threads[THREADS];
	static atomic_bool enough; /* NNG has them, or can */
	int count = 0;

	if (atomic_load(&enough) ||
	    (is_ample(RLIMIT_AS, ROOM_AMPLE) && is_ample(RLIMIT_NPROC, TASKS_AMPLE))) {
		return 0;
	}
	pthread_mutex_lock(&gate);
	while (count < THREADS && pthread_create(&threads[count], NULL, await, &gate) == 0) {
		count++;
	}
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
	}
	atomic_store(&enough, count == THREADS);
	return count == THREADS ? 0 : -EAGAIN;
}
