#include "cli/export/perfetto/perfetto_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <uthash.h>
#include <xxhash.h>

#include "cli/export/activity.h"
#include "cli/export/perfetto/perfetto_event.h"
#include "cli/export/perfetto/perfetto_track.h"
#include "hooks/hook.h"

#define STREAMS_MOST 65536u /* further ones have no track */
#define ENQUEUE UINT64_MAX  /* used in place of a device */

struct hk_perfetto_stream {
	uint64_t uuid;
	UT_hash_handle hh;
};

void hk_perfetto_streams_fini(struct hk_perfetto_streams *streams)
{
	struct hk_perfetto_stream *stream, *next;

	HASH_ITER (hh, streams->list, stream, next) {
		HASH_DEL(streams->list, stream);
		free(stream);
	}
}

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

static int describe(struct hk_perfetto_writer *writer, const struct hk_export_process *process,
		    uint64_t uuid, uint64_t device, uint64_t number)
{
	char name[80];

	if (device == ENQUEUE) {
		snprintf(name, sizeof(name), "stream 0x%" PRIx64 " host calls", number);
		return hk_perfetto_write_stream_track(
		    writer, process, uuid, name,
		    "When the host began calls that name this stream: when they were enqueued. "
		    "When the device did what they ask for is not known from them.");
	}
	if (hk_stream_nccl_name((int32_t)device, number, name)) {
		return hk_perfetto_write_stream_track(writer, process, uuid, name,
						      "What NCCL reported to its profiler plugin.");
	}
	snprintf(name, sizeof(name), "device %" PRId32 " stream 0x%" PRIx64, (int32_t)device,
		 number);
	return hk_perfetto_write_stream_track(
	    writer, process, uuid, name,
	    "What the device did, as told by a program that measured it; hooktrace did not.");
}

/* Sets *ret_uuid to the track of stream NUMBER of DEVICE, described if it is new, or to 0 if there
 * are too many. Returns 0 or -errno. */
static int track_of(struct hk_perfetto_writer *writer, struct hk_perfetto_streams *streams,
		    const struct hk_export_process *process, uint64_t device, uint64_t number,
		    uint64_t *ret_uuid)
{
	uint64_t parts[2] = {device, number};
	uint64_t uuid = XXH3_64bits_withSeed(parts, sizeof(parts), process->uuid);
	struct hk_perfetto_stream *stream;

	*ret_uuid = uuid;
	HASH_FIND(hh, streams->list, &uuid, sizeof(uuid), stream);
	if (stream) {
		return 0;
	}
	if (HASH_COUNT(streams->list) >= STREAMS_MOST) {
		*ret_uuid = 0;
		return 0;
	}
	stream = calloc(1, sizeof(*stream));
	if (!stream) {
		return -ENOMEM;
	}
	stream->uuid = uuid;
	HASH_ADD(hh, streams->list, uuid, sizeof(uuid), stream);
	if (!stream->hh.tbl) {
		free(stream);
		return -ENOMEM;
	}
	return describe(writer, process, uuid, device, number);
}

int hk_perfetto_write_enqueue(struct hk_perfetto_writer *writer,
			      struct hk_perfetto_streams *streams,
			      const struct hk_export_thread *thread,
			      struct hk_perfetto_sequence *sequence, const struct hk_slice *slice)
{
	struct hk_slice enqueued;
	uint64_t number, track;
	int rc;

	if (!value_of(slice, HK_KEY_STREAM, &number)) {
		return 0;
	}
	rc = track_of(writer, streams, thread->process, ENQUEUE, number, &track);
	if (rc < 0 || !track) {
		return rc;
	}
	enqueued = *slice;
	enqueued.flow_out = enqueued.flow_joint = 0; /* the call itself has the arrows */
	return hk_perfetto_write_call(writer, thread, sequence, &enqueued,
				      HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT, track);
}

int hk_perfetto_write_activity(struct hk_perfetto_writer *writer,
			       struct hk_perfetto_streams *streams,
			       const struct hk_export_thread *thread,
			       struct hk_perfetto_sequence *sequence, const struct hk_slice *slice)
{
	struct hk_slice activity = *slice;
	uint64_t device = 0, number = 0, began = 0, duration = 0, track;
	int rc;

	value_of(slice, HK_KEY_DEVICE, &device);
	value_of(slice, HK_KEY_STREAM, &number);
	value_of(slice, HK_KEY_BEGAN, &began);
	value_of(slice, HK_KEY_DURATION, &duration);
	rc = track_of(writer, streams, thread->process, (uint32_t)device, number, &track);
	if (rc < 0 || !track) {
		return rc;
	}
	/* A damaged record's time is clamped to the range. */
	began =
	    began < slice->start_ns - writer->start_ns ? began : slice->start_ns - writer->start_ns;
	activity.start_ns = slice->start_ns - began;
	activity.end_ns = activity.start_ns + (duration < began ? duration : began);
	rc = hk_perfetto_write_call(writer, thread, sequence, &activity,
				    HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track);
	return rc < 0 ? rc : hk_perfetto_write_end(writer, thread, &activity, track);
}
