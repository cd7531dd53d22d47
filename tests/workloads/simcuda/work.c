#include "work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAMS 64
#define NAMES 65536

static const struct sim_watch *_Atomic watch;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t calls;
static struct {
	CUstream stream;
	int device;
	uint64_t reached_ns;
} streams[STREAMS];
static struct {
	const void *kernel;
	const char *name;
} names[NAMES];
static size_t name_count;

static _Thread_local const char *driver_function, *runtime_function;
static _Thread_local uint64_t runtime_ns;

void sim_driver_watch(const struct sim_watch *with)
{
	watch = with;
}

bool sim_work_watched(void)
{
	return watch != NULL;
}

void sim_driver_runtime(const char *function)
{
	runtime_function = function;
	runtime_ns = sim_now_ns();
}

void sim_work_entered(const char *function)
{
	driver_function = function;
}

/* ---- names */

void sim_driver_name(const void *kernel, const char *name)
{
	pthread_mutex_lock(&mutex);
	if (name_count < NAMES) {
		names[name_count].kernel = kernel;
		names[name_count++].name = name;
	}
	pthread_mutex_unlock(&mutex);
}

const char *sim_work_name(const void *kernel)
{
	const char *name = NULL;
	Dl_info info;

	pthread_mutex_lock(&mutex);
	for (size_t i = name_count; i > 0 && !name; i--) {
		name = names[i - 1].kernel == kernel ? names[i - 1].name : NULL;
	}
	pthread_mutex_unlock(&mutex);
	if (!name && dladdr(kernel, &info) && info.dli_saddr == kernel) {
		name = info.dli_sname;
	}
	return name ? name : "simulated kernel";
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

static void tell_api(const struct sim_watch *with, bool runtime, const char *function,
		     uint64_t start_ns, uint32_t correlation)
{
	struct sim_api api = {
	    .function = function,
	    .runtime = runtime,
	    .start_ns = start_ns,
	    .end_ns = sim_now_ns(),
	    .correlation = correlation,
	    .thread = (uint32_t)pthread_self(),
	};

	with->api(&api);
}

bool sim_work_tell(struct sim_work *work, uint64_t began_ns, const unsigned *shape)
{
	const struct sim_watch *with = watch;

	if (!with) {
		return false;
	}
	for (int i = 0; i < 3 && shape; i++) {
		work->grid[i] = shape[i];
		work->block[i] = shape[3 + i];
	}
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
	with->work(work);
	tell_api(with, false, driver_function, began_ns, work->correlation);
	if (runtime_function) {
		tell_api(with, true, runtime_function, runtime_ns, work->correlation);
		runtime_function = NULL;
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
