#include "collector/trigger/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>
#include <utlist.h>

#include "base/log.h"
#include "chunk/codec/header.h"
#include "chunk/read/file.h"
#include "collector/job/jobdir.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/spool/retention.h"
#include "collector/trigger/kept_job.h"

/* Bytes copied at once: requests are answered in between. */
#define STEP_BYTES (UINT64_C(8) << 20)

/* How far the chunks of one process are copied. */
struct place {
	uint8_t uid[HK_UID_BYTES];
	struct hk_chunk_walk walk; /* of its file, without a descriptor */
	uint64_t end_bytes;	   /* of the copy */
	uint64_t records;	   /* in the copy */
	bool begun;		   /* the copy was made */
	bool beyond;		   /* a chunk that began after the end was seen */
	UT_hash_handle hh;
};

struct hk_capture {
	Hk__Trigger *trigger;
	char directory[PATH_MAX];
	struct place *places;
	struct hk_chunk_buffer buffer;
	uint64_t step_bytes; /* copied in this step */
};

/* ---- beginning and end ---- */

int hk_capture_begin(struct hk_job *job, Hk__Trigger *trigger, struct hk_capture **ret_capture)
{
	struct hk_capture *capture = calloc(1, sizeof(*capture));
	if (!capture) {
		return -ENOMEM;
	}
	capture->trigger = trigger;
	int length = snprintf(capture->directory, sizeof(capture->directory), "%s/%s",
			      job->state->directory, trigger->directory);
	int r = length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
	if (r == 0) {
		/* What an earlier collector copied is copied again. */
		hk_jobdir_remove(capture->directory);
		r = mkdir(capture->directory, 0755) < 0 && errno != EEXIST ? -errno : 0;
	}
	if (r < 0) {
		free(capture);
		return r;
	}
	trigger->records = trigger->bytes = trigger->refused_records = trigger->first_unix_ns = 0;
	job->held_from_ns = trigger->from_unix_ns;
	*ret_capture = capture;
	return 0;
}

struct hk_capture *hk_capture_free(struct hk_capture *capture)
{
	struct place *place, *next;
	if (!capture) {
		return NULL;
	}
	HASH_ITER (hh, capture->places, place, next) {
		HASH_DEL(capture->places, place);
		free(place);
	}
	free(capture->buffer.bytes);
	free(capture);
	return NULL;
}

/* ---- one chunk ---- */

static uint64_t records_of(const struct hk_chunk_header *header)
{
	return (uint64_t)header->records + header->long_records;
}

static void refuse(struct hk_capture *capture, const struct hk_chunk_header *header,
		   const char *reason)
{
	Hk__Trigger *trigger = capture->trigger;
	if (!*trigger->problem) {
		hk_warning("records around trigger %u not kept: %s", trigger->number, reason);
		hk_field_set_string(&trigger->problem, reason);
	}
	trigger->refused_records += records_of(header);
}

/* Appends the bytes in the buffer to the copy of PLACE. Returns 0 or -errno. */
static int append(struct hk_capture *capture, struct place *place, size_t size)
{
	char path[PATH_MAX];
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (place->begun ? 0 : O_TRUNC);
	int r = hk_jobdir_chunks(capture->directory, place->uid, path);
	int fd = r < 0 ? r : open(path, flags, 0644);
	if (fd < 0) {
		return r < 0 ? r : -errno;
	}
	uint64_t at = hk_chunk_file_location(place->end_bytes);
	place->begun = true;
	r = hk_chunk_file_append(fd, at, capture->buffer.bytes, size);
	if (r == 0) {
		place->end_bytes = at + size;
	}
	return close(fd) < 0 && r == 0 ? -errno : r;
}

/* Copies the chunk at OFFSET of file FD. */
static void copy(struct hk_capture *capture, struct place *place, int fd, uint64_t offset,
		 const struct hk_chunk_header *header, uint64_t most_bytes)
{
	Hk__Trigger *trigger = capture->trigger;
	if (trigger->bytes + header->total_bytes > most_bytes) {
		refuse(capture, header, "more than --trigger-size");
		return;
	}
	int r = hk_chunk_file_read(fd, offset, header->total_bytes, &capture->buffer);
	r = r < 0 ? r : append(capture, place, header->total_bytes);
	if (r < 0) {
		refuse(capture, header, strerror(-r));
		return;
	}
	capture->step_bytes += header->total_bytes;
	trigger->bytes += header->total_bytes;
	trigger->records += records_of(header);
	place->records += records_of(header);
}

/* Copies the chunk if its calls are in the window. */
static void take(struct hk_capture *capture, const struct hk_process *process, struct place *place,
		 int fd, uint64_t offset, const struct hk_chunk_header *header, uint64_t most_bytes)
{
	Hk__Trigger *trigger = capture->trigger;
	uint64_t end_ns = hk_retention_unix_ns(process, header->max_end_ticks);
	if (end_ns < trigger->from_unix_ns) {
		return;
	}
	if (hk_chunk_evicted_records(header) > 0) {
		trigger->first_unix_ns =
		    end_ns > trigger->first_unix_ns ? end_ns : trigger->first_unix_ns;
	}
	if (hk_chunk_is_evicted(header) || records_of(header) == 0) {
		return;
	}
	if (hk_retention_unix_ns(process, header->min_start_ticks) > trigger->until_unix_ns) {
		place->beyond = true;
		return;
	}
	copy(capture, place, fd, offset, header, most_bytes);
}

/* ---- one process ---- */

static struct place *place_of(struct hk_capture *capture, const struct hk_process *process)
{
	struct place *place;
	HASH_FIND(hh, capture->places, process->uid, HK_UID_BYTES, place);
	if (!place) {
		place = calloc(1, sizeof(*place));
		if (!place) {
			return NULL;
		}
		memcpy(place->uid, process->uid, HK_UID_BYTES);
		HASH_ADD(hh, capture->places, uid, HK_UID_BYTES, place);
	}
	return place;
}

/* Copies chunks of PROCESS that are new. Returns true if the step is over before the last one. */
static bool step_process(struct hk_capture *capture, const struct hk_process *process,
			 uint64_t most_bytes)
{
	struct place *place = place_of(capture, process);
	char path[PATH_MAX];
	int r =
	    place ? hk_jobdir_chunks(process->job->state->directory, process->uid, path) : -ENOMEM;
	int fd = r < 0 ? r : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		return false; /* it has no records */
	}
	bool over = false;
	place->walk.fd = fd;
	while (!over) {
		struct hk_chunk_walk before = place->walk;
		struct hk_chunk_header header;
		uint64_t offset;
		if (hk_chunk_walk_next(&place->walk, &header, &offset) <= 0) {
			place->walk = before;
			break;
		}
		take(capture, process, place, fd, offset, &header, most_bytes);
		over = capture->step_bytes >= STEP_BYTES;
	}
	close(fd);
	return over;
}

bool hk_capture_step(struct hk_capture *capture, const struct hk_job *job, uint64_t most_bytes)
{
	const struct hk_process *process;
	capture->step_bytes = 0;
	DL_FOREACH (job->processes, process) {
		if (step_process(capture, process, most_bytes)) {
			return true;
		}
	}
	return false;
}

bool hk_capture_has_all(const struct hk_capture *capture, const struct hk_job *job)
{
	const struct hk_process *process;
	DL_FOREACH (job->processes, process) {
		const struct place *place;
		HASH_FIND(hh, capture->places, process->uid, HK_UID_BYTES, place);
		if (process->remote && !process->exited && !(place && place->beyond)) {
			return false;
		}
	}
	return true;
}

static uint64_t records_kept(const void *context, const uint8_t *uid)
{
	const struct hk_capture *capture = context;
	const struct place *place;
	HASH_FIND(hh, capture->places, uid, HK_UID_BYTES, place);
	return place ? place->records : 0;
}

void hk_capture_end(struct hk_capture *capture, struct hk_collector *collector, struct hk_job *job,
		    uint64_t most_bytes)
{
	Hk__Trigger *trigger = capture->trigger;
	while (hk_capture_step(capture, job, most_bytes)) {
	}
	trigger->open = false;
	const struct hk_kept_job kept = {
	    .directory = capture->directory,
	    .host = collector->host,
	    .trigger = trigger,
	    .records = records_kept,
	    .context = capture,
	};
	int r = hk_kept_job_write(job, &kept);
	if (r < 0) {
		hk_warning("trigger %u of job %s has no statistics: %s", trigger->number,
			   job->state->id, strerror(-r));
		if (!*trigger->problem) {
			hk_field_set_string(&trigger->problem, strerror(-r));
		}
	}
	job->held_from_ns = 0;
	job->changed = true;
	hk_info("trigger kept job=%s number=%u records=%llu bytes=%llu", job->state->id,
		trigger->number, (unsigned long long)trigger->records,
		(unsigned long long)trigger->bytes);
}
