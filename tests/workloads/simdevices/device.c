#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 1024
#define STREAMS 64
#define PIECES 256 /* of work that waits on one stream */

enum kind { COPY, SET, RUN, WAIT };

struct piece {
	enum kind kind;
	void *to;
	const void *from;
	int value;
	size_t bytes;
	sim_kernel *kernel;
	struct sim_launch launch;
	struct sim_stream *other; /* WAIT: until so much of its work is done */
	uint64_t number;
};

struct sim_stream {
	bool used;
	int device;
	uint64_t queued, done;
	uint64_t booked_ns; /* until then */
	struct piece pieces[PIECES];
};
struct sim_event {
	struct sim_stream *stream; /* NULL: not recorded, or on no stream */
	uint64_t number;
	bool recorded;
};

static struct {
	void *at;
	size_t size;
	int device;
} blocks[BLOCKS];
static size_t used[SIM_DEVICES];
static struct sim_stream streams[STREAMS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current;

int sim_set_device(int device)
{
	if (device < 0 || device >= SIM_DEVICES) {
		return -ENODEV;
	}
	current = device;
	return 0;
}

int sim_device(void)
{
	return current;
}

/* ---- memory */

static int note_block(void *at, size_t size, int device)
{
	if (device != SIM_HOST && size > SIM_DEVICE_BYTES - used[device]) {
		return -ENOMEM;
	}
	for (int i = 0; i < BLOCKS; i++) {
		if (!blocks[i].at) {
			blocks[i].at = at;
			blocks[i].size = size;
			blocks[i].device = device;
			used[device == SIM_HOST ? 0 : device] += device == SIM_HOST ? 0 : size;
			return 0;
		}
	}
	return -ENOMEM;
}

int sim_alloc(void **ret_pointer, size_t size, int device)
{
	if (size == 0 || device >= SIM_DEVICES || device < SIM_HOST) {
		return -EINVAL;
	}
	void *at = size <= SIM_DEVICE_BYTES ? calloc(1, size) : NULL;
	pthread_mutex_lock(&mutex);
	int result = at ? note_block(at, size, device) : -ENOMEM;
	pthread_mutex_unlock(&mutex);
	if (result < 0) {
		free(at);
		return result;
	}
	*ret_pointer = at;
	return 0;
}

int sim_release(void *pointer)
{
	int result = pointer ? -EINVAL : 0;

	pthread_mutex_lock(&mutex);
	for (int i = 0; pointer && i < BLOCKS; i++) {
		if (blocks[i].at == pointer) {
			used[blocks[i].device == SIM_HOST ? 0 : blocks[i].device] -=
			    blocks[i].device == SIM_HOST ? 0 : blocks[i].size;
			blocks[i].at = NULL;
			result = 0;
			break;
		}
	}
	pthread_mutex_unlock(&mutex);
	if (result == 0) {
		free(pointer);
	}
	return result;
}

/* ---- work: called with the mutex */

static void step(struct sim_stream *stream);

static void perform(const struct piece *piece)
{
	switch (piece->kind) {
	case COPY:
		memmove(piece->to, piece->from, piece->bytes);
		break;
	case SET:
		memset(piece->to, piece->value, piece->bytes);
		break;
	case RUN:
		piece->kernel(&piece->launch);
		break;
	default:
		while (piece->other->done < piece->number) {
			step(piece->other);
		}
		break;
	}
}

static void step(struct sim_stream *stream)
{
	struct piece piece = stream->pieces[stream->done % PIECES];

	perform(&piece);
	stream->done++;
}

static int submit(struct sim_stream *stream, const struct piece *piece)
{
	int result = 0;

	pthread_mutex_lock(&mutex);
	if (!stream) {
		perform(piece);
	} else if (!stream->used || stream->queued - stream->done == PIECES) {
		result = -EINVAL;
	} else {
		stream->pieces[stream->queued++ % PIECES] = *piece;
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

static void drain_to(struct sim_stream *stream, uint64_t number)
{
	pthread_mutex_lock(&mutex);
	while (stream->done < number) {
		step(stream);
	}
	pthread_mutex_unlock(&mutex);
}

int sim_copy(struct sim_stream *stream, void *to, const void *from, size_t bytes)
{
	return submit(stream,
		      &(struct piece){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

int sim_set(struct sim_stream *stream, void *to, int value, size_t bytes)
{
	return submit(stream,
		      &(struct piece){.kind = SET, .to = to, .value = value, .bytes = bytes});
}

int sim_run(struct sim_stream *stream, sim_kernel *kernel, const struct sim_launch *launch)
{
	return submit(stream, &(struct piece){.kind = RUN, .kernel = kernel, .launch = *launch});
}

bool sim_step(struct sim_stream *stream)
{
	pthread_mutex_lock(&mutex);
	bool busy = stream && stream->done < stream->queued;
	if (busy) {
		step(stream);
	}
	pthread_mutex_unlock(&mutex);
	return busy;
}

void sim_drain(struct sim_stream *stream)
{
	if (stream) {
		drain_to(stream, stream->queued);
	}
}

void sim_drain_device(int device)
{
	for (int i = 0; i < STREAMS; i++) {
		if (streams[i].used && streams[i].device == device) {
			sim_drain(&streams[i]);
		}
	}
}

/* ---- streams and events */

struct sim_stream *sim_stream_new(void)
{
	struct sim_stream *found = NULL;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < STREAMS && !found; i++) {
		if (!streams[i].used) {
			found = &streams[i];
			found->used = true;
			found->device = current;
		}
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

int sim_stream_delete(struct sim_stream *stream)
{
	if (!stream || !stream->used) {
		return -EINVAL;
	}
	sim_drain(stream);
	stream->used = false;
	return 0;
}

int sim_stream_device(const struct sim_stream *stream)
{
	return stream ? stream->device : current;
}

uint32_t sim_stream_number(const struct sim_stream *stream)
{
	return (uint32_t)(stream - streams) + 1;
}

uint64_t sim_stream_book(struct sim_stream *stream, uint64_t now_ns, uint64_t ns)
{
	pthread_mutex_lock(&mutex);
	uint64_t start_ns = stream->booked_ns > now_ns ? stream->booked_ns : now_ns;
	uint64_t end_ns = stream->booked_ns = start_ns + ns;
	pthread_mutex_unlock(&mutex);
	return end_ns;
}

struct sim_event *sim_event_new(void)
{
	return calloc(1, sizeof(struct sim_event));
}

int sim_event_delete(struct sim_event *event)
{
	free(event);
	return event ? 0 : -EINVAL;
}

int sim_event_record(struct sim_event *event, struct sim_stream *stream)
{
	if (!event) {
		return -EINVAL;
	}
	event->stream = stream;
	event->number = stream ? stream->queued : 0;
	event->recorded = true;
	return 0;
}

bool sim_event_done(const struct sim_event *event)
{
	return event->recorded && (!event->stream || event->stream->done >= event->number);
}

int sim_event_wait(struct sim_event *event)
{
	if (!event || !event->recorded) {
		return -EINVAL;
	}
	if (event->stream) {
		drain_to(event->stream, event->number);
	}
	return 0;
}

int sim_stream_wait(struct sim_stream *stream, struct sim_event *event)
{
	if (!event || !event->recorded) {
		return -EINVAL;
	}
	return event->stream ? submit(stream, &(struct piece){.kind = WAIT,
							      .other = event->stream,
							      .number = event->number})
			     : 0;
}
