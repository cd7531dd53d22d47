/* A simulated libcupti.so.13: the activities of the simulated devices as CUPTI 13.0 reports them,
 * one set of callbacks, one subscriber. Its clock is not the host's. SIM_CUPTI holds words:
 * "status=N" (every answer is N), "refuses=N" (kind N needs a privilege), "version=N", "bytes=N"
 * (of a buffer, at most), "late" (buffers come at a forced flush only), "reverse" (the newest
 * buffer comes first). */
#include "cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

#define VERSION 130001
#define OFFSET_NS 1700000000000000000u
#define FASTER 50000 /* its clock is faster by one part in so many */
#define TRIES 5
#define BUFFERS 4096
#define EXTERNAL_KINDS 8
#define EXTERNAL_DEPTH 64
#define CBIDS 1024

/* Records of API calls and of devices go to buffers of their own. */
enum queue { OF_API, OF_DEVICE, QUEUES };

struct buffer {
	uint8_t *bytes;
	size_t size, valid, most, count;
	uint64_t complete_ns; /* when the last record is complete */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned calls;
static sim_cupti_requested *requested;
static sim_cupti_completed *completed;
static uint64_t (*timestamp)(void);
static struct {
	uint64_t theirs, ours;
} stamped;
static bool kinds[SIM_CUPTI_KINDS], chosen[2][CBIDS], choosy[2];
static void *subscriber;
static struct buffer current[QUEUES], full[BUFFERS];
static size_t full_count, dropped;
static _Thread_local struct {
	uint64_t ids[EXTERNAL_DEPTH];
	size_t depth;
} external[EXTERNAL_KINDS];

unsigned sim_cupti_calls(void)
{
	return atomic_exchange(&calls, 0);
}

static unsigned long setting(const char *word, unsigned long otherwise)
{
	const char *words = getenv("SIM_CUPTI");
	const char *found = words ? strstr(words, word) : NULL;

	return found ? strtoul(found + strlen(word), NULL, 10) : otherwise;
}

static bool says(const char *word)
{
	const char *words = getenv("SIM_CUPTI");

	return words && strstr(words, word);
}

/* ---- time */

static uint64_t own_clock(uint64_t ns)
{
	return ns + ns / FASTER + OFFSET_NS;
}

/* Returns a tool's time, and the host's when it was read: what lies between is small in one of some
 * tries, however busy the machine. */
static uint64_t read_pair(uint64_t (*clock)(void), uint64_t *ret_ours)
{
	uint64_t theirs = 0, shortest = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t from = sim_now_ns(), read = clock(), to = sim_now_ns();
		if (to - from < shortest) {
			shortest = to - from;
			theirs = read;
			*ret_ours = from + (to - from) / 2;
		}
	}
	return theirs;
}

/* Returns the host's NS on the clock of the records. Within the mutex. */
static uint64_t stamp(uint64_t ns)
{
	if (!timestamp) {
		return own_clock(ns);
	}
	uint64_t ours, theirs = read_pair(timestamp, &ours);
	double rate = ours > stamped.ours
			  ? (double)(theirs - stamped.theirs) / (double)(ours - stamped.ours)
			  : 1;
	return theirs + (uint64_t)(int64_t)((double)(int64_t)(ns - ours) * rate);
}

/* ---- buffers */

static void deliver(const struct buffer *buffer, sim_cupti_completed *to)
{
	to(NULL, 0, buffer->bytes, buffer->size, buffer->valid);
}

/* Takes a buffer from the list of full ones whose records are complete by NS. Within the mutex. */
static bool take_full(uint64_t ns, struct buffer *ret_buffer)
{
	bool reverse = says("reverse");

	for (size_t n = 0; n < full_count; n++) {
		size_t i = reverse ? full_count - 1 - n : n;
		if (full[i].complete_ns <= ns) {
			*ret_buffer = full[i];
			memmove(&full[i], &full[i + 1], (full_count - i - 1) * sizeof(full[0]));
			full_count--;
			return true;
		}
	}
	return false;
}

/* As the real one's worker thread, but on the thread that has just made a record. */
static void deliver_full(uint64_t ns)
{
	struct buffer buffer;
	bool found;

	do {
		pthread_mutex_lock(&mutex);
		sim_cupti_completed *to = completed;
		found = to && take_full(ns, &buffer);
		pthread_mutex_unlock(&mutex);
		if (found) {
			deliver(&buffer, to);
		}
	} while (found);
}

static void retire(struct buffer *buffer)
{
	if (buffer->bytes && full_count < BUFFERS) {
		full[full_count++] = *buffer;
	}
	*buffer = (struct buffer){0};
}

/* Within the mutex. */
static void append(enum queue queue, const void *record, size_t size, uint64_t complete_ns)
{
	struct buffer *buffer = &current[queue];

	if (buffer->bytes && (buffer->valid + size > buffer->size ||
			      (buffer->most && buffer->count == buffer->most))) {
		retire(buffer);
	}
	if (!buffer->bytes && requested) {
		requested(&buffer->bytes, &buffer->size, &buffer->most);
		size_t most = setting("bytes=", ~0UL);
		buffer->size = buffer->size < most ? buffer->size : most;
		buffer->bytes = buffer->size >= size ? buffer->bytes : NULL;
	}
	if (!buffer->bytes) {
		dropped++;
		return;
	}
	memcpy(buffer->bytes + buffer->valid, record, size);
	buffer->valid += size;
	buffer->count++;
	buffer->complete_ns = complete_ns > buffer->complete_ns ? complete_ns : buffer->complete_ns;
}

static size_t size_of(uint32_t kind)
{
	switch (kind) {
	case SIM_CUPTI_MEMCPY:
		return sizeof(struct sim_cupti_memcpy);
	case SIM_CUPTI_MEMSET:
		return sizeof(struct sim_cupti_memset);
	case SIM_CUPTI_DRIVER:
	case SIM_CUPTI_RUNTIME:
		return sizeof(struct sim_cupti_api);
	case SIM_CUPTI_CONCURRENT_KERNEL:
		return sizeof(struct sim_cupti_kernel);
	case SIM_CUPTI_EXTERNAL_CORRELATION:
		return sizeof(struct sim_cupti_external);
	default:
		return 0;
	}
}

/* ---- what the driver tells */

static void add_externals(uint32_t correlation)
{
	for (uint32_t kind = 0; kind < EXTERNAL_KINDS; kind++) {
		if (kinds[SIM_CUPTI_EXTERNAL_CORRELATION] && external[kind].depth) {
			const struct sim_cupti_external record = {
			    .kind = SIM_CUPTI_EXTERNAL_CORRELATION,
			    .external_kind = kind,
			    .external_id = external[kind].ids[external[kind].depth - 1],
			    .correlation = correlation,
			};
			append(OF_API, &record, sizeof(record), 0);
		}
	}
}

static void see_api(const struct sim_api *api)
{
	uint32_t kind = api->runtime ? SIM_CUPTI_RUNTIME : SIM_CUPTI_DRIVER;
	struct sim_cupti_api record = {.kind = kind,
				       .process = (uint32_t)getpid(),
				       .thread = api->thread,
				       .correlation = api->correlation};

	record.cbid = sim_cupti_cbid(api->runtime, api->kind);
	pthread_mutex_lock(&mutex);
	bool wanted = record.cbid && kinds[kind] &&
		      (!choosy[api->runtime] || chosen[api->runtime][record.cbid]);
	if (wanted || (api->runtime && record.cbid)) {
		add_externals(api->correlation);
	}
	if (wanted) {
		record.start = stamp(api->start_ns);
		record.end = stamp(api->end_ns);
		append(OF_API, &record, sizeof(record), api->end_ns);
	}
	bool late = says("late");
	pthread_mutex_unlock(&mutex);
	if (!late) {
		deliver_full(sim_now_ns());
	}
}

static void add_kernel(const struct sim_work *work)
{
	struct sim_cupti_kernel record = {
	    .kind = SIM_CUPTI_CONCURRENT_KERNEL,
	    .start = stamp(work->start_ns),
	    .end = stamp(work->end_ns),
	    .device = (uint32_t)work->device,
	    .context = 1 + (uint32_t)work->device,
	    .stream = work->stream_number,
	    .correlation = work->correlation,
	    .grid_id = work->correlation,
	    .name = work->name,
	};

	for (int i = 0; i < 3; i++) {
		record.grid[i] = (int32_t)work->grid[i];
		record.block[i] = (int32_t)work->block[i];
	}
	append(OF_DEVICE, &record, sizeof(record), work->end_ns);
}

/* HtoD 1, DtoH 2, DtoD 8 */
static uint8_t copy_kind(const char *name)
{
	return strstr(name, "HtoD") ? 1 : strstr(name, "DtoH") ? 2 : 8;
}

static void see_work(const struct sim_work *work)
{
	struct sim_cupti_memcpy copy = {
	    .kind = SIM_CUPTI_MEMCPY,
	    .copy_kind = copy_kind(work->name),
	    .bytes = work->bytes,
	    .device = (uint32_t)work->device,
	    .context = 1 + (uint32_t)work->device,
	    .stream = work->stream_number,
	    .correlation = work->correlation,
	};

	pthread_mutex_lock(&mutex);
	if (work->kind == SIM_WORK_KERNEL && kinds[SIM_CUPTI_CONCURRENT_KERNEL]) {
		add_kernel(work);
	} else if (work->kind == SIM_WORK_COPY && kinds[SIM_CUPTI_MEMCPY]) {
		copy.start = stamp(work->start_ns);
		copy.end = stamp(work->end_ns);
		append(OF_DEVICE, &copy, sizeof(copy), work->end_ns);
	} else if (work->kind == SIM_WORK_SET && kinds[SIM_CUPTI_MEMSET]) {
		struct sim_cupti_memset set = {
		    .kind = SIM_CUPTI_MEMSET,
		    .bytes = work->bytes,
		    .start = stamp(work->start_ns),
		    .end = stamp(work->end_ns),
		    .device = copy.device,
		    .context = copy.context,
		    .stream = copy.stream,
		    .correlation = copy.correlation,
		};
		append(OF_DEVICE, &set, sizeof(set), work->end_ns);
	}
	pthread_mutex_unlock(&mutex);
}

static const struct sim_watch watching = {see_api, see_work};

/* Returns the driver's function that takes watchers, or NULL without a driver. */
static __typeof__(&sim_driver_watch) find_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	return driver ? (__typeof__(&sim_driver_watch))dlsym(driver, "sim_driver_watch") : NULL;
}

/* What each function that needs the driver answers first. */
static int answer(void)
{
	int status = (int)setting("status=", SIM_CUPTI_SUCCESS);

	calls++;
	return status ? status : find_driver() ? SIM_CUPTI_SUCCESS : SIM_CUPTI_UNKNOWN;
}

/* ---- CUPTI */

int cuptiGetVersion(uint32_t *version)
{
	*version = (uint32_t)setting("version=", VERSION);
	return SIM_CUPTI_SUCCESS;
}

int cuptiGetTimestamp(uint64_t *now)
{
	*now = own_clock(sim_now_ns());
	return SIM_CUPTI_SUCCESS;
}

int cuptiActivityRegisterCallbacks(sim_cupti_requested *of_requests, sim_cupti_completed *of_ends)
{
	calls++;
	if (!of_requests || !of_ends) {
		return SIM_CUPTI_INVALID_PARAMETER;
	}
	pthread_mutex_lock(&mutex);
	requested = of_requests;
	completed = of_ends;
	pthread_mutex_unlock(&mutex);
	return SIM_CUPTI_SUCCESS;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
	pthread_mutex_lock(&mutex);
	timestamp = now;
	stamped.theirs = now ? read_pair(now, &stamped.ours) : 0;
	pthread_mutex_unlock(&mutex);
	return SIM_CUPTI_SUCCESS;
}

static int set_kind(int kind, bool on)
{
	int status = answer();
	__typeof__(&sim_driver_watch) watch = find_driver();
	bool any = false;

	if (status != SIM_CUPTI_SUCCESS || kind < 1 || kind >= SIM_CUPTI_KINDS) {
		return status ? status : SIM_CUPTI_INVALID_KIND;
	}
	if (on && kind == (int)setting("refuses=", 0)) {
		return SIM_CUPTI_NO_PRIVILEGE;
	}
	pthread_mutex_lock(&mutex);
	kinds[kind] = on;
	if (kind == SIM_CUPTI_RUNTIME || kind == SIM_CUPTI_DRIVER) {
		choosy[kind == SIM_CUPTI_RUNTIME] = false;
	}
	for (int i = 0; i < SIM_CUPTI_KINDS; i++) {
		any |= kinds[i];
	}
	pthread_mutex_unlock(&mutex);
	watch(any ? &watching : NULL);
	return SIM_CUPTI_SUCCESS;
}

int cuptiActivityEnable(int kind)
{
	return set_kind(kind, true);
}

int cuptiActivityDisable(int kind)
{
	return set_kind(kind, false);
}

/* Choosing a call turns its kind on for the chosen calls, unless it is on for all. */
static int choose(int kind, uint32_t cbid, uint8_t enable)
{
	bool runtime = kind == SIM_CUPTI_RUNTIME;

	if (cbid >= CBIDS) {
		return SIM_CUPTI_INVALID_PARAMETER;
	}
	if (!kinds[kind]) {
		int status = set_kind(kind, true);
		if (status != SIM_CUPTI_SUCCESS) {
			return status;
		}
		choosy[runtime] = true;
	}
	chosen[runtime][cbid] = enable;
	return SIM_CUPTI_SUCCESS;
}

int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable)
{
	return choose(SIM_CUPTI_RUNTIME, cbid, enable);
}

int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable)
{
	return choose(SIM_CUPTI_DRIVER, cbid, enable);
}

int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
	(void)enable;
	return answer();
}

int cuptiActivityFlushAll(uint32_t flag)
{
	int status = answer();
	uint64_t now = flag ? ~0ULL : sim_now_ns();

	if (status != SIM_CUPTI_SUCCESS) {
		return status;
	}
	if (flag || !says("late")) {
		pthread_mutex_lock(&mutex);
		for (int queue = 0; queue < QUEUES; queue++) {
			if (current[queue].complete_ns <= now) {
				retire(&current[queue]);
			}
		}
		pthread_mutex_unlock(&mutex);
		deliver_full(now);
	}
	return SIM_CUPTI_SUCCESS;
}

int cuptiActivityFlushPeriod(uint32_t ms)
{
	(void)ms;
	return answer();
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + size_of(*(uint32_t *)*record) : buffer;

	if (!buffer || next >= buffer + valid) {
		return buffer ? SIM_CUPTI_MAX_LIMIT_REACHED : SIM_CUPTI_INVALID_PARAMETER;
	}
	*record = next;
	return SIM_CUPTI_SUCCESS;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *ret_dropped)
{
	(void)context;
	(void)stream;
	pthread_mutex_lock(&mutex);
	*ret_dropped = dropped;
	dropped = 0;
	pthread_mutex_unlock(&mutex);
	return SIM_CUPTI_SUCCESS;
}

int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
	int status = answer();

	if (status == SIM_CUPTI_SUCCESS && kind < EXTERNAL_KINDS &&
	    external[kind].depth < EXTERNAL_DEPTH) {
		external[kind].ids[external[kind].depth++] = id;
	}
	return status;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
	if (kind >= EXTERNAL_KINDS || !external[kind].depth) {
		return SIM_CUPTI_QUEUE_EMPTY;
	}
	external[kind].depth--;
	if (last) {
		*last = external[kind].ids[external[kind].depth];
	}
	return SIM_CUPTI_SUCCESS;
}

int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
	(void)attribute;
	(void)size;
	(void)value;
	return answer();
}

int cuptiActivityRegisterCallbacks_v2(void *of, sim_cupti_requested *of_requests,
				      sim_cupti_completed *of_ends)
{
	return of == subscriber ? cuptiActivityRegisterCallbacks(of_requests, of_ends)
				: SIM_CUPTI_INVALID_PARAMETER;
}

int cuptiSubscribe(void **ret_subscriber, sim_cupti_callback *callback, void *data)
{
	int status = answer();

	(void)callback;
	(void)data;
	if (status != SIM_CUPTI_SUCCESS) {
		return status;
	}
	pthread_mutex_lock(&mutex);
	status = subscriber ? SIM_CUPTI_MULTIPLE_SUBSCRIBERS : SIM_CUPTI_SUCCESS;
	subscriber = &subscriber;
	pthread_mutex_unlock(&mutex);
	*ret_subscriber = &subscriber;
	return status;
}

int cuptiSubscribe_v2(void **ret_subscriber, sim_cupti_callback *callback, void *data, void *params)
{
	(void)params;
	return cuptiSubscribe(ret_subscriber, callback, data);
}

int cuptiUnsubscribe(void *of)
{
	subscriber = of == &subscriber ? NULL : subscriber;
	return SIM_CUPTI_SUCCESS;
}

int cuptiEnableCallback(uint32_t enable, void *of, int domain, uint32_t id)
{
	(void)enable;
	(void)domain;
	(void)id;
	return of == subscriber ? answer() : SIM_CUPTI_INVALID_PARAMETER;
}

int cuptiEnableDomain(uint32_t enable, void *of, int domain)
{
	return cuptiEnableCallback(enable, of, domain, 0);
}

/* As if it had just been loaded; buffers that are not delivered are lost. */
int cuptiFinalize(void)
{
	__typeof__(&sim_driver_watch) watch = find_driver();

	calls++;
	if (watch) {
		watch(NULL);
	}
	pthread_mutex_lock(&mutex);
	requested = NULL;
	completed = NULL;
	timestamp = NULL;
	subscriber = NULL;
	memset(kinds, 0, sizeof(kinds));
	memset(current, 0, sizeof(current));
	full_count = dropped = 0;
	pthread_mutex_unlock(&mutex);
	return SIM_CUPTI_SUCCESS;
}
