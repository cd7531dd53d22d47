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

#include "base/clock.h"
#include "base/log.h"
#include "chunk/codec/header.h"
#include "chunk/read/file.h"
#include "collector/job/jobdir.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/spool/retention.h"
#include "collector/trigger/copy.h"
#include "collector/trigger/kept_job.h"
#include "trigger/plan.h"

/* A step ends after this: requests are answered in between. */
#define STEP_BYTES (UINT64_C(8) << 20)
#define STEP_NS UINT64_C(20000000)
#define STEP_HEADERS 512u

/* How far the chunks of one process are copied. */
struct place {
	struct hk_copy copy;
	struct hk_chunk_walk walk; /* of its file, without a descriptor */
	bool beyond;		   /* a chunk that began after the end was seen */
	UT_hash_handle hh;
};

struct hk_capture {
	Hk__Trigger *trigger;
	char directory[PATH_MAX];
	int dirfd;
	struct place *places;
	struct hk_chunk_buffer buffer;
	size_t turn; /* place of the process in the job's list that the next step begins with */
	uint64_t most_bytes;
	/* In this step. */
	uint64_t step_bytes, begin_ns;
	unsigned headers;
};

/* ---- beginning and end ---- */

static struct place *place_of(struct hk_capture *capture, const struct hk_process *process)
{
	struct place *place;
	HASH_FIND(hh, capture->places, process->uid, HK_UID_BYTES, place);
	if (!place) {
		place = calloc(1, sizeof(*place));
		if (!place) {
			return NULL;
		}
		memcpy(place->copy.uid, process->uid, HK_UID_BYTES);
		HASH_ADD(hh, capture->places, copy.uid, HK_UID_BYTES, place);
	}
	return place;
}

/* Makes the directory; AGAIN: an earlier collector made it. Returns its descriptor or -errno. */
static int make_directory(const char *path, bool again)
{
	if (!again) {
		/* Of a collector that died before it told of this trigger. */
		hk_jobdir_remove(path);
	}
	if (mkdir(path, 0755) < 0 && errno != EEXIST) {
		return -errno;
	}
	/* A link or a file in its place is not followed. */
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Finds what an earlier collector copied. */
static int take_up(struct hk_capture *capture, struct hk_job *job)
{
	Hk__Trigger *trigger = capture->trigger;
	struct hk_process *process;
	trigger->records = trigger->bytes = trigger->refused_records = 0;
	DL_FOREACH (job->processes, process) {
		struct place *place = place_of(capture, process);
		if (!place) {
			return -ENOMEM;
		}
		hk_copy_take_up(&place->copy, capture->dirfd);
		trigger->records += place->copy.records;
		trigger->bytes += place->copy.bytes;
		trigger->refused_records += place->copy.refused;
		process->captured = 0;
	}
	return 0;
}

int hk_capture_begin(struct hk_job *job, Hk__Trigger *trigger, bool again, uint64_t most_bytes,
		     struct hk_capture **ret_capture)
{
	struct hk_capture *capture = calloc(1, sizeof(*capture));
	if (!capture) {
		return -ENOMEM;
	}
	capture->trigger = trigger;
	capture->most_bytes = most_bytes;
	/* The name that the trigger's message has may be any path. */
	int length =
	    snprintf(capture->directory, sizeof(capture->directory),
		     "%s/" HK_TRIGGER_DIRECTORY "%u", job->state->directory, trigger->number);
	int r = length < 0 || length >= PATH_MAX ? -ENAMETOOLONG
						 : make_directory(capture->directory, again);
	capture->dirfd = r;
	r = r < 0 ? r : take_up(capture, job);
	if (r < 0) {
		hk_capture_free(capture);
		return r;
	}
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
	if (capture->dirfd >= 0) {
		close(capture->dirfd);
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

static void refuse(struct hk_capture *capture, struct place *place,
		   const struct hk_chunk_header *header, const char *reason)
{
	Hk__Trigger *trigger = capture->trigger;
	if (!*trigger->problem) {
		hk_warning("records around trigger %u not kept: %s", trigger->number, reason);
		hk_field_set_string(&trigger->problem, reason);
	}
	trigger->refused_records += records_of(header);
	hk_copy_skip(&place->copy, header, records_of(header));
}

/* Copies the chunk at OFFSET of file FD. */
static void copy(struct hk_capture *capture, struct place *place, int fd, uint64_t offset,
		 const struct hk_chunk_header *header)
{
	Hk__Trigger *trigger = capture->trigger;
	if (trigger->bytes + header->total_bytes > capture->most_bytes) {
		refuse(capture, place, header, "more than --trigger-size");
		return;
	}
	int r = hk_chunk_file_read(fd, offset, header->total_bytes, &capture->buffer);
	r = r < 0 ? r : hk_copy_add(&place->copy, capture->dirfd, header, capture->buffer.bytes);
	if (r < 0) {
		refuse(capture, place, header, strerror(-r));
		return;
	}
	capture->step_bytes += header->total_bytes;
	trigger->bytes += header->total_bytes;
	trigger->records += records_of(header);
}

/* Copies the chunk if its calls are in the window. */
static void take(struct hk_capture *capture, const struct hk_process *process, struct place *place,
		 int fd, uint64_t offset, const struct hk_chunk_header *header)
{
	Hk__Trigger *trigger = capture->trigger;
	uint64_t end_ns = hk_retention_unix_ns(process, header->max_end_ticks);
	uint64_t begin_ns = hk_retention_unix_ns(process, header->min_start_ticks);
	bool gone = hk_chunk_is_evicted(header) || records_of(header) == 0;
	if (header->number <= place->copy.last_number) {
		return; /* an earlier collector copied it */
	}
	if (end_ns >= trigger->from_unix_ns && hk_chunk_evicted_records(header) > 0) {
		trigger->first_unix_ns =
		    end_ns > trigger->first_unix_ns ? end_ns : trigger->first_unix_ns;
	}
	place->beyond |= !gone && begin_ns > trigger->until_unix_ns;
	if (gone || end_ns < trigger->from_unix_ns || begin_ns > trigger->until_unix_ns) {
		hk_copy_skip(&place->copy, header, 0);
	} else {
		copy(capture, place, fd, offset, header);
	}
}

/* ---- one step ---- */

static bool is_over(const struct hk_capture *capture)
{
	return capture->step_bytes >= STEP_BYTES || capture->headers >= STEP_HEADERS ||
	       hk_clock_monotonic_ns() - capture->begin_ns >= STEP_NS;
}

/* Copies chunks of PROCESS that are new. Returns true if the step is over before the last one. */
static bool step_process(struct hk_capture *capture, struct hk_process *process)
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
		take(capture, process, place, fd, offset, &header);
		process->captured = header.number;
		capture->headers++;
		over = is_over(capture);
	}
	close(fd);
	return over;
}

bool hk_capture_step(struct hk_capture *capture, const struct hk_job *job)
{
	struct hk_process *process;
	size_t at = 0;
	bool more = false;
	capture->step_bytes = capture->headers = 0;
	capture->begin_ns = hk_clock_monotonic_ns();
	DL_FOREACH (job->processes, process) {
		if (at++ < capture->turn) {
			continue;
		}
		bool rest = step_process(capture, process);
		if (rest || is_over(capture)) {
			capture->turn = rest ? at - 1 : at;
			more = true;
			break;
		}
	}
	capture->turn = more ? capture->turn : 0;
	return more;
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

static const struct hk_copy *copy_of(const void *context, const uint8_t *uid)
{
	const struct hk_capture *capture = context;
	const struct place *place;
	HASH_FIND(hh, capture->places, uid, HK_UID_BYTES, place);
	return place ? &place->copy : NULL;
}

void hk_capture_end(struct hk_capture *capture, struct hk_collector *collector, struct hk_job *job)
{
	Hk__Trigger *trigger = capture->trigger;
	struct place *place, *next;
	capture->turn = 0;
	while (hk_capture_step(capture, job)) {
	}
	HASH_ITER (hh, capture->places, place, next) {
		hk_copy_end(&place->copy, capture->dirfd);
	}
	trigger->open = false;
	const struct hk_kept_job kept = {
	    .directory = capture->directory,
	    .host = collector->host,
	    .trigger = trigger,
	    .copy = copy_of,
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
