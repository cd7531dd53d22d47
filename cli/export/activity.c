#include "cli/export/activity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "hooks/hook.h"

#define LOOK_BACK 256u /* most calls open at once */
#define DEFAULT_STREAM 7u
#define DEFAULT_HANDLES 3u /* 0, 1, 2: handles of the default stream */

static bool value_of(const struct hk_slice *slice, uint8_t key, uint64_t *ret_word)
{
	for (unsigned i = 0; i < slice->word_count; i++) {
		if (slice->site->keys[i] == key) {
			*ret_word = slice->words[i];
			return true;
		}
	}
	return false;
}

static uint64_t before(uint64_t now_ns, uint64_t ago_ns)
{
	return ago_ns < now_ns ? now_ns - ago_ns : 0;
}

bool hk_activity_read(const struct hk_slice *slice, struct hk_device_activity *ret_activity)
{
	uint64_t device, submitted_ago, began_ago, duration;

	if (!hk_meaning_is_activity(slice->site->meaning) ||
	    !value_of(slice, HK_KEY_DEVICE, &device) ||
	    !value_of(slice, HK_KEY_STREAM, &ret_activity->stream) ||
	    !value_of(slice, HK_KEY_BYTES, &ret_activity->bytes) ||
	    !value_of(slice, HK_KEY_SUBMITTED, &submitted_ago) ||
	    !value_of(slice, HK_KEY_BEGAN, &began_ago) ||
	    !value_of(slice, HK_KEY_DURATION, &duration)) {
		return false;
	}
	ret_activity->thread = 0;
	value_of(slice, HK_KEY_THREAD, &ret_activity->thread);
	ret_activity->meaning = slice->site->meaning;
	ret_activity->device = (int32_t)device;
	ret_activity->submitted_ns = submitted_ago ? before(slice->start_ns, submitted_ago) : 0;
	ret_activity->start_ns = before(slice->start_ns, began_ago);
	ret_activity->end_ns =
	    ret_activity->start_ns + (duration < began_ago ? duration : began_ago);
	return true;
}

/* ---- streams ---- */

/* Returns the first number that is unused in the process. */
static uint32_t next_number(const struct hk_stream *streams, uint32_t show_pid)
{
	uint32_t last = DEFAULT_STREAM;

	for (const struct hk_stream *stream = streams; stream; stream = stream->hh.next) {
		if (stream->key.show_pid == show_pid && stream->number > last) {
			last = stream->number;
		}
	}
	return last + 1;
}

int hk_streams_find(struct hk_stream **streams, uint32_t show_pid,
		    const struct hk_device_activity *activity, struct hk_stream **ret_stream,
		    bool *ret_new)
{
	struct hk_stream wanted = {0}; /* the key has no padding */

	wanted.key.handle = activity->stream < DEFAULT_HANDLES ? 0 : activity->stream;
	wanted.key.show_pid = show_pid;
	wanted.key.device = activity->device;
	HASH_FIND(hh, *streams, &wanted.key, sizeof(wanted.key), *ret_stream);
	*ret_new = !*ret_stream;
	if (*ret_stream) {
		return 0;
	}
	*ret_stream = malloc(sizeof(wanted));
	if (!*ret_stream) {
		return -ENOMEM;
	}
	wanted.number = wanted.key.handle ? next_number(*streams, show_pid) : DEFAULT_STREAM;
	**ret_stream = wanted;
	HASH_ADD(hh, *streams, key, sizeof(wanted.key), *ret_stream);
	if (!(*ret_stream)->hh.tbl) {
		free(*ret_stream);
		return -ENOMEM;
	}
	return 0;
}

void hk_streams_free(struct hk_stream *streams)
{
	struct hk_stream *stream, *next;

	HASH_ITER (hh, streams, stream, next) {
		HASH_DEL(streams, stream);
		free(stream);
	}
}

bool hk_stream_nccl_name(int32_t device, uint64_t handle, char name[HK_STREAM_NAME_BYTES])
{
	static const char *const kinds[] = {"operations", "channel", "proxy", "network"};
	unsigned kind = (unsigned)(-2 - device);
	uint64_t comm = handle >> 16, channel = handle & 0xffff;

	if (device > -2 || kind >= sizeof(kinds) / sizeof(kinds[0])) {
		return false;
	}
	if (kind == 0 || channel == 0xffff) {
		snprintf(name, HK_STREAM_NAME_BYTES, "NCCL %012" PRIx64 " %s", comm, kinds[kind]);
	} else {
		snprintf(name, HK_STREAM_NAME_BYTES, "NCCL %012" PRIx64 " %s %" PRIu64, comm,
			 kinds[kind], channel);
	}
	return true;
}

void hk_stream_name(const struct hk_stream *stream, char name[HK_STREAM_NAME_BYTES])
{
	if (hk_stream_nccl_name(stream->key.device, stream->key.handle, name)) {
		return;
	}
	snprintf(name, HK_STREAM_NAME_BYTES, "GPU %" PRId32 " stream %" PRIu32, stream->key.device,
		 stream->number);
}

/* ---- submitting calls ---- */

void hk_launches_fini(struct hk_launches *launches)
{
	free(launches->ring);
	*launches = (struct hk_launches){0};
}

int hk_launches_add(struct hk_launches *launches, const struct hk_launch *launch)
{
	if (!launches->ring) {
		launches->ring = calloc(HK_LAUNCHES_MAX, sizeof(*launches->ring));
		if (!launches->ring) {
			return -ENOMEM;
		}
	}
	launches->ring[launches->count++ % HK_LAUNCHES_MAX] = *launch;
	return 0;
}

static const struct hk_launch *at(const struct hk_launches *launches, uint64_t number)
{
	return &launches->ring[number % HK_LAUNCHES_MAX];
}

/* Returns how many calls, counted from the first ever, began at TIME or before. */
static uint64_t begun_by(const struct hk_launches *launches, uint64_t first, uint64_t time_ns)
{
	uint64_t low = first, high = launches->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (at(launches, middle)->start_ns <= time_ns) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Whether LAUNCH, which began before ACTIVITY was submitted, may have submitted it. */
static bool is_of(const struct hk_launch *launch, const struct hk_device_activity *activity,
		  uint32_t show_pid)
{
	if (launch->show_pid != show_pid || launch->end_ns < activity->submitted_ns) {
		return false;
	}
	return activity->thread ? launch->thread == activity->thread
				: launch->any_stream || launch->stream == activity->stream;
}

const struct hk_launch *hk_launches_find(const struct hk_launches *launches,
					 const struct hk_device_activity *activity,
					 uint32_t show_pid, uint32_t show_tid)
{
	uint64_t oldest = launches->count > HK_LAUNCHES_MAX ? launches->count - HK_LAUNCHES_MAX : 0;
	const struct hk_launch *found = NULL;
	uint64_t number, least;

	if (!activity->submitted_ns) {
		return NULL;
	}
	number = begun_by(launches, oldest, activity->submitted_ns);
	least = number > oldest + LOOK_BACK ? number - LOOK_BACK : oldest;
	while (number > least) {
		const struct hk_launch *launch = at(launches, --number);

		if (!is_of(launch, activity, show_pid)) {
			continue;
		}
		if (activity->thread || launch->show_tid == show_tid) {
			return launch;
		}
		found = found ? found : launch;
	}
	return found;
}
