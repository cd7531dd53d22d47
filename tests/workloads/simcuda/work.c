#include "work.h"
#include "hooktrace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAMS 64

static const struct sim_watch *_Atomic watch;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t calls;
static struct {
	CUstream stream;
	int device;
	uint64_t reached_ns;
} streams[STREAMS];
static _Thread_local uint64_t runtime_ns; /* when the runtime was called; 0: it was not */

void sim_driver_watch(const struct sim_watch *with)
{
	watch = with;
}

void sim_driver_runtime(void)
{
	runtime_ns = watch ? sim_now_ns() : 0;
}

/* A host function that the program exports has its own name. */
static const char *name_of(const struct hk_activity *activity, const void *kernel)
{
	Dl_info info;
	bool known = kernel && dladdr(kernel, &info) && info.dli_saddr == kernel;

	return known ? info.dli_sname : activity->name;
}

/* ---- work */

static uint64_t duration_of(const struct sim_work *work)
{
	const unsigned *grid = work->grid;

	return work->kind == SIM_WORK_KERNEL ? (uint64_t)grid[0] * grid[1] * grid[2] * SIM_BLOCK_NS
					     : work->bytes / SIM_BYTES_PER_NS + SIM_MOVE_NS;
}

/* The default stream of each device is one of its own. Within the mutex. */
static int number_of(CUstream stream, int device)
{
	for (int i = 0; i < STREAMS; i++) {
		if (!streams[i].reached_ns ||
		    (streams[i].stream == stream && streams[i].device == device)) {
			streams[i].stream = stream;
			streams[i].device = device;
			return i;
		}
	}
	fprintf(stderr, "simulated driver: more than %d streams\n", STREAMS);
	abort();
}

static void write_truth(const struct sim_work *work)
{
	static const char *const kinds[] = {"kernel", "copy", "set"};
	const char *path = getenv("SIM_TRUTH");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (file) {
		fprintf(file, "%s\t%s\t%d\t%p\t%lu\t%lu\t%lu\t%d\t%d\n", kinds[work->kind],
			work->name, work->device, (void *)work->stream, (unsigned long)work->bytes,
			(unsigned long)work->start_ns, (unsigned long)work->end_ns, gettid(),
			getpid());
		fclose(file);
	}
}

static void tell_api(const struct sim_watch *with, bool runtime, const struct sim_work *work,
		     uint64_t start_ns)
{
	struct sim_api api = {
	    .kind = work->kind,
	    .runtime = runtime,
	    .start_ns = start_ns,
	    .end_ns = sim_now_ns(),
	    .correlation = work->correlation,
	    .thread = (uint32_t)pthread_self(),
	};

	with->api(&api);
}

/* Gives WORK its place behind the work before it. */
static void place(struct sim_work *work)
{
	pthread_mutex_lock(&mutex);
	int number = number_of(work->stream, work->device);
	uint64_t now = sim_now_ns(), reached = streams[number].reached_ns;
	work->start_ns = reached > now ? reached : now;
	work->end_ns = work->start_ns + duration_of(work);
	streams[number].reached_ns = work->end_ns;
	work->stream_number = 7 + (uint32_t)number;
	work->correlation = ++calls;
	write_truth(work);
	pthread_mutex_unlock(&mutex);
}

bool sim_work_tell(const struct hk_activity *activity, const void *kernel, const unsigned *shape)
{
	const struct sim_watch *with = watch;
	struct sim_work work = {
	    .kind = (enum sim_work_kind)activity->kind,
	    .name = name_of(activity, kernel),
	    .device = activity->device,
	    .stream = (CUstream)activity->stream,
	    .bytes = activity->bytes,
	    .grid = {1, 1, 1},
	    .block = {1, 1, 1},
	};

	if (!with) {
		return false;
	}
	for (int i = 0; i < 3 && shape; i++) {
		work.grid[i] = shape[i];
		work.block[i] = shape[3 + i];
	}
	place(&work);
	with->work(&work);
	while (sim_now_ns() - activity->submitted_ns < SIM_CALL_NS) {
	}
	tell_api(with, false, &work, activity->submitted_ns);
	if (runtime_ns) {
		tell_api(with, true, &work, runtime_ns);
		runtime_ns = 0;
	}
	return true;
}

void sim_work_wait(CUstream stream)
{
	uint64_t until = 0;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < STREAMS; i++) {
		if ((!stream || streams[i].stream == stream) && streams[i].reached_ns > until) {
			until = streams[i].reached_ns;
		}
	}
	pthread_mutex_unlock(&mutex);
	const struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
	while (until > sim_now_ns()) {
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
}
