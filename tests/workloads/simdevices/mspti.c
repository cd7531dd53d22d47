/* A simulated libmspti.so: one set of callbacks, records as MSPTI documents them. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mspti.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sim_mspti_requested *requested;
static sim_mspti_completed *completed;
static bool kinds[SIM_MSPTI_KINDS];
static struct {
	uint8_t *bytes;
	size_t size, valid;
	uint64_t complete; /* when its last record is */
} buffer;

static size_t size_of(int kind)
{
	return kind == SIM_MSPTI_KERNEL	  ? sizeof(struct sim_mspti_kernel)
	       : kind == SIM_MSPTI_API	  ? sizeof(struct sim_mspti_api)
	       : kind == SIM_MSPTI_MEMCPY ? sizeof(struct sim_mspti_memcpy)
					  : 0;
}

/* Once all records are complete. Within the mutex. */
static void deliver(void)
{
	const struct timespec at = {(time_t)(buffer.complete / 1000000000u),
				    (long)(buffer.complete % 1000000000u)};

	if (buffer.bytes) {
		while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL)) {
		}
		completed(buffer.bytes, buffer.size, buffer.valid);
		buffer.bytes = NULL;
	}
}

static void append(const void *record, size_t size)
{
	size_t most = 0;

	if (buffer.bytes && buffer.valid + size > buffer.size) {
		deliver();
	}
	if (!buffer.bytes && requested) {
		requested(&buffer.bytes, &buffer.size, &most);
		buffer.valid = 0;
	}
	if (buffer.bytes && buffer.valid + size <= buffer.size) {
		memcpy(buffer.bytes + buffer.valid, record, size);
		buffer.valid += size;
	}
}

static void see(const struct sim_acl_work *work)
{
	const struct sim_mspti_kernel kernel = {.kind = SIM_MSPTI_KERNEL,
						.start = work->start,
						.end = work->end,
						.stream = work->stream,
						.correlation = work->correlation,
						.type = "AI_CORE",
						.name = work->name};
	const struct sim_mspti_memcpy copy = {.kind = SIM_MSPTI_MEMCPY,
					      .bytes = work->bytes,
					      .start = work->start,
					      .end = work->end,
					      .stream = work->stream,
					      .is_async = 1};
	const struct sim_mspti_api api = {.kind = SIM_MSPTI_API,
					  .start = work->call_start,
					  .end = work->call_end,
					  .process = (uint32_t)getpid(),
					  .thread = work->thread,
					  .correlation = work->correlation,
					  .name = work->function};

	pthread_mutex_lock(&mutex);
	buffer.complete = work->end > buffer.complete ? work->end : buffer.complete;
	if (work->name && kinds[SIM_MSPTI_KERNEL]) {
		append(&kernel, sizeof(kernel));
	} else if (!work->name && kinds[SIM_MSPTI_MEMCPY]) {
		append(&copy, sizeof(copy));
	}
	if (kinds[SIM_MSPTI_API]) {
		append(&api, sizeof(api));
	}
	pthread_mutex_unlock(&mutex);
}

int msptiActivityRegisterCallbacks(sim_mspti_requested *of_requests, sim_mspti_completed *of_ends)
{
	if (!of_requests || !of_ends) {
		return 1;
	}
	pthread_mutex_lock(&mutex);
	requested = of_requests;
	completed = of_ends;
	pthread_mutex_unlock(&mutex);
	return 0;
}

static int set(int kind, bool on)
{
	if (kind <= 0 || kind >= SIM_MSPTI_KINDS) {
		return 1;
	}
	pthread_mutex_lock(&mutex);
	kinds[kind] = on;
	pthread_mutex_unlock(&mutex);
	sim_acl_watch(see);
	return 0;
}

int msptiActivityEnable(int kind)
{
	return set(kind, true);
}

int msptiActivityDisable(int kind)
{
	return set(kind, false);
}

int msptiActivityFlushAll(uint32_t flag)
{
	(void)flag;
	pthread_mutex_lock(&mutex);
	deliver();
	pthread_mutex_unlock(&mutex);
	return 0;
}

int msptiActivityGetNextRecord(uint8_t *bytes, size_t valid, void **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + size_of(*(int *)*record) : bytes;

	if (!bytes || next >= bytes + valid) {
		return 2;
	}
	*record = next;
	return 0;
}
