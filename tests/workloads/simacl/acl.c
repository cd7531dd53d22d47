/* A simulated libascendcl.so: work of known duration, which ends later than the call returns. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "simacl.h"

struct sim_acl_stream {
	uint32_t number;
	uint64_t reached;
};

static void (*_Atomic watch)(const struct sim_acl_work *work);
static _Atomic uint64_t correlation;
static _Atomic uint32_t streams;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sim_acl_watch(void (*with)(const struct sim_acl_work *work))
{
	watch = with;
}

int aclrtSetDevice(int32_t device)
{
	return device == 0 ? 0 : 107001;
}

int aclrtCreateStream(aclrtStream *stream)
{
	*stream = calloc(1, sizeof(**stream));
	if (*stream) {
		(*stream)->number = ++streams;
	}
	return *stream ? 0 : 207001;
}

int aclrtDestroyStream(aclrtStream stream)
{
	free(stream);
	return 0;
}

static int submit(struct sim_acl_work *work, uint64_t lasts, aclrtStream stream)
{
	void (*with)(const struct sim_acl_work *) = watch;

	work->call_start = now_ns();
	work->start = stream->reached > work->call_start ? stream->reached : work->call_start;
	work->end = work->start + lasts;
	stream->reached = work->end;
	work->stream = stream->number;
	work->thread = (uint32_t)gettid();
	work->correlation = ++correlation;
	work->call_end = now_ns();
	if (with) {
		with(work);
	}
	return 0;
}

int aclrtLaunchKernel(const char *function, uint32_t blocks, const void *arguments, size_t bytes,
		      aclrtStream stream)
{
	struct sim_acl_work work = {.name = function, .function = "aclrtLaunchKernel"};

	(void)arguments;
	(void)bytes;
	return submit(&work, (uint64_t)blocks * SIM_ACL_BLOCK_NS, stream);
}

int aclrtMemcpyAsync(void *to, size_t most, const void *from, size_t bytes, int kind,
		     aclrtStream stream)
{
	struct sim_acl_work work = {.bytes = bytes, .function = "aclrtMemcpyAsync"};

	(void)to;
	(void)from;
	(void)kind;
	return bytes <= most ? submit(&work, SIM_ACL_BLOCK_NS, stream) : 100000;
}

int aclrtSynchronizeStream(aclrtStream stream)
{
	const struct timespec pause = {.tv_nsec = 20000};

	while (now_ns() < stream->reached) {
		nanosleep(&pause, NULL);
	}
	return 0;
}
