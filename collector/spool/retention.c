#include "collector/spool/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "chunk/read/front.h"
#include "collector/job/jobdir.h"
#include "collector/job/root_clock.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/spool/spool.h"
#include "report/clock/job_clock.h"

#define SECOND_NS UINT64_C(1000000000)
/* Most chunks evicted at once: the processes must be drained in between. */
#define EVICTED_AT_ONCE 64u
#define NOTHING UINT64_MAX

/* ---- the chunk file of a process, whether somebody writes it or not ---- */

struct file {
	struct hk_spool *spool;
	struct hk_chunk_front front; /* if there is no spool */
};

static int file_open(const struct hk_process *process, struct file *file)
{
	char path[PATH_MAX];
	*file = (struct file){.spool = process->segment ? process->segment->spool : NULL};
	if (file->spool) {
		return 0;
	}
	int r = hk_jobdir_chunks(process->job->state->directory, process->uid, path);
	int fd = r < 0 ? r : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		return r < 0 ? r : -errno;
	}
	file->front = HK_CHUNK_FRONT(fd);
	return 0;
}

static void file_close(struct file *file)
{
	if (!file->spool) {
		close(file->front.walk.fd);
	}
}

/* Finds the oldest chunk that has its records. Returns 1, 0 if there is none, or -errno. */
static int file_oldest(struct file *file, const struct hk_chunk_location **ret_oldest)
{
	if (file->spool) {
		return hk_spool_oldest(file->spool, ret_oldest);
	}
	*ret_oldest = &file->front.oldest;
	return hk_chunk_front_find(&file->front);
}

/* Returns whether tombstone NUMBER may join its neighbour. On a leaf, a tombstone that the root has
 * not acknowledged stays apart, so that the root can tell which of its records it has. */
static bool may_join(const struct hk_collector *collector, const struct hk_process *process,
		     uint64_t number)
{
	return !collector->options.upstream || number <= process->upload.acknowledged;
}

static int file_evict(const struct hk_collector *collector, struct hk_process *process,
		      struct file *file, const struct hk_chunk_header *oldest, uint32_t flags)
{
	uint64_t freed = 0, records = (uint64_t)oldest->records + oldest->long_records;
	bool join = may_join(collector, process, oldest->number);
	flags |= process->remote ? HK_CHUNK_CAME : 0;
	int r = file->spool ? hk_spool_evict(file->spool, flags, join, &freed)
			    : hk_chunk_front_evict(&file->front, flags, join, &freed);
	if (file->spool || (r < 0 && file->front.found)) {
		return r;
	}
	process->held_bytes -= freed < process->held_bytes ? freed : process->held_bytes;
	if (flags & HK_CHUNK_ELSEWHERE) {
		process->state->records_elsewhere += records;
	} else {
		process->state->records_shed += records;
	}
	process->changed = true;
	return r;
}

/* ---- which is the oldest ---- */

/* Without a map of its node, the node's realtime clock is taken as it was when the process began.
 */
uint64_t hk_retention_unix_ns(const struct hk_process *process, uint64_t ticks)
{
	struct hk_report_map_memory memory = {0};
	const Hk__Process *state = process->state;
	const Hk__Anchor *start = state->start;
	uint64_t ns;
	if (!start) {
		return 0;
	}
	uint64_t ran_ns = ticks > start->ticks
			      ? hk_clock_ticks_to_ns(ticks - start->ticks, state->tick_ns_q32)
			      : 0;
	return hk_report_clock_unix_ns(process->job->state, state, start->monotonic_ns + ran_ns,
				       &memory, &ns)
		   ? ns
		   : start->realtime_ns + ran_ns;
}

/* Returns when the last call of a chunk ended. A chunk that a damaged record makes end in the
 * future counts by its begin. */
static uint64_t time_of(const struct hk_process *process, const struct hk_chunk_header *header,
			uint64_t now_ns)
{
	uint64_t ns = hk_retention_unix_ns(process, header->max_end_ticks);
	if (header->records + header->long_records == 0) {
		return 0;
	}
	return ns > now_ns + SECOND_NS ? hk_retention_unix_ns(process, header->min_start_ticks)
				       : ns;
}

/* Sets `oldest_ns` of a process if it is not known. */
static void find_oldest(struct hk_process *process, uint64_t now_ns)
{
	const struct hk_chunk_location *oldest;
	struct file file;
	process->oldest_ns = NOTHING;
	if (file_open(process, &file) < 0) {
		return;
	}
	if (file_oldest(&file, &oldest) > 0) {
		process->oldest_ns = time_of(process, &oldest->header, now_ns);
	}
	file_close(&file);
}

/* A file that is still being written may have got its first chunk. */
static bool is_known(const struct hk_process *process)
{
	return process->oldest_known &&
	       (process->oldest_ns != NOTHING || !(process->segment || process->remote));
}

struct victim {
	struct hk_process *process; /* NULL: there is none */
	uint64_t until_ns;	    /* other processes have no older chunk */
};

static struct victim find_victim(struct hk_job *job, uint64_t now_ns)
{
	struct hk_process *process;
	struct victim victim = {NULL, NOTHING};
	DL_FOREACH (job->processes, process) {
		if (!is_known(process)) {
			find_oldest(process, now_ns);
			process->oldest_known = true;
		}
		if (process->oldest_ns == NOTHING) {
			continue;
		}
		if (!victim.process) {
			victim.process = process;
		} else if (process->oldest_ns < victim.process->oldest_ns) {
			victim.until_ns = victim.process->oldest_ns;
			victim.process = process;
		} else if (process->oldest_ns < victim.until_ns) {
			victim.until_ns = process->oldest_ns;
		}
	}
	return victim;
}

/* ---- sliding ---- */

struct slide {
	struct hk_collector *collector;
	struct hk_job *job;
	uint64_t now_ns;
	uint64_t held;	    /* bytes */
	unsigned evictions; /* evictions so far */
};

uint64_t hk_retention_held(const struct hk_job *job)
{
	const struct hk_process *process;
	uint64_t held = 0;
	DL_FOREACH (job->processes, process) {
		held +=
		    process->segment ? hk_spool_held(process->segment->spool) : process->held_bytes;
	}
	return held;
}

/* Returns whether the chunk may not be evicted because an open trigger has not copied it. */
static bool is_held(const struct hk_process *process, const struct hk_chunk_header *header,
		    uint64_t end_ns)
{
	uint64_t from_ns = process->job->held_from_ns;
	return from_ns != 0 && end_ns >= from_ns && header->number > process->captured;
}

/* Returns whether the chunk, which ended at END_NS, is to be evicted. LAST: the job has no other
 * chunk. */
static bool is_too_many(const struct slide *slide, uint64_t end_ns, bool last)
{
	const struct hk_keep *keep = &slide->collector->options.keep;
	const struct hk_job *job = slide->job;
	if (keep->ns != UINT64_MAX) {
		uint64_t ns = keep->ns > job->held_ns ? keep->ns : job->held_ns;
		return slide->now_ns > ns && end_ns < slide->now_ns - ns;
	}
	return slide->held > keep->bytes && !last;
}

static bool is_newest(const struct hk_process *process, const struct hk_chunk_header *header)
{
	uint64_t number = process->segment ? hk_spool_number(process->segment->spool)
					   : process->state->last_chunk;
	return header->number >= number;
}

/* Logs once that the file system cannot free parts of files. */
static void note_failure(struct hk_job *job, int error)
{
	if (error == -EAGAIN || error == job->evict_error) {
		return;
	}
	job->evict_error = error;
	hk_warning("old records not given up job=%s error=%s", job->state->id,
		   error == -EOPNOTSUPP ? "its file system cannot free parts of files"
					: strerror(-error));
}

/* Evicts chunks of the victim while they are the oldest of the job. Returns 1 if some were evicted,
 * 0 if no more need to be, or -errno. */
static int evict_from(struct slide *slide, const struct victim *victim)
{
	struct hk_process *process = victim->process;
	const struct hk_chunk_location *oldest;
	struct file file;
	bool any = false;
	int r = file_open(process, &file);
	if (r < 0) {
		return r;
	}
	while ((r = file_oldest(&file, &oldest)) > 0 && slide->evictions < EVICTED_AT_ONCE) {
		const struct hk_chunk_header header = oldest->header;
		uint64_t end_ns = time_of(process, &header, slide->now_ns);
		bool last = victim->until_ns == NOTHING && is_newest(process, &header);
		process->oldest_ns = end_ns;
		if (end_ns > victim->until_ns || is_held(process, &header, end_ns) ||
		    !is_too_many(slide, end_ns, last)) {
			break;
		}
		r = file_evict(slide->collector, process, &file, &header, 0);
		if (r < 0) {
			break;
		}
		any = true;
		slide->evictions++;
		slide->held = hk_retention_held(slide->job);
	}
	file_close(&file);
	process->oldest_known = any ? false : process->oldest_known;
	return r < 0 ? r : any;
}

bool hk_retention_apply(struct hk_collector *collector, struct hk_job *job)
{
	struct slide slide = {
	    .collector = collector, .job = job, .now_ns = hk_root_clock_unix_ns(job->state)};
	int r = 1;
	if (hk_keep_is_all(&collector->options.keep)) {
		return false;
	}
	slide.held = hk_retention_held(job);
	if (collector->options.keep.ns == UINT64_MAX &&
	    slide.held <= collector->options.keep.bytes) {
		return false;
	}
	while (r > 0 && slide.evictions < EVICTED_AT_ONCE) {
		const struct victim victim = find_victim(job, slide.now_ns);
		r = victim.process ? evict_from(&slide, &victim) : 0;
	}
	if (r < 0) {
		note_failure(job, r);
	} else if (slide.evictions > 0) {
		job->evict_error = 0;
	}
	return r > 0 || r == -EAGAIN;
}

uint64_t hk_retention_room(const struct hk_collector *collector, const struct hk_job *job)
{
	const uint64_t unbounded = UINT64_MAX / 4; /* a sum with file sizes must not wrap */
	uint64_t bytes = collector->options.keep.bytes;
	if (job->full_error != 0) {
		return 0;
	}
	if (job->evict_error != -EOPNOTSUPP || bytes == UINT64_MAX) {
		return unbounded;
	}
	uint64_t held = hk_retention_held(job);
	uint64_t room = bytes > held ? bytes - held : 0;
	return room < unbounded ? room : unbounded;
}

/* ---- what is elsewhere ---- */

void hk_retention_release(struct hk_collector *collector, struct hk_process *process,
			  uint64_t number)
{
	const struct hk_chunk_location *oldest;
	struct file file;
	if (file_open(process, &file) < 0) {
		return;
	}
	int r = 1;
	for (unsigned i = 0; r > 0 && i < EVICTED_AT_ONCE; i++) {
		r = file_oldest(&file, &oldest);
		if (r <= 0 || oldest->header.number > number) {
			break;
		}
		const struct hk_chunk_header header = oldest->header;
		r = file_evict(collector, process, &file, &header, HK_CHUNK_ELSEWHERE);
		r = r < 0 ? r : 1;
	}
	file_close(&file);
	process->oldest_known = false;
	if (r < 0) {
		note_failure(process->job, r);
	}
}

/* ---- after a restart ---- */

int hk_retention_restore(struct hk_process *process)
{
	struct hk_chunk_header header;
	struct file file;
	uint64_t offset, evicted = 0, at_source = 0, elsewhere = 0, held = 0, records = 0;
	int r = file_open(process, &file);
	if (r < 0) {
		return r == -ENOENT ? 0 : r;
	}
	struct hk_chunk_walk walk = HK_CHUNK_WALK(file.front.walk.fd);
	while ((r = hk_chunk_walk_next(&walk, &header, &offset)) > 0) {
		bool is_evicted = hk_chunk_is_evicted(&header);
		uint64_t lost = is_evicted ? hk_chunk_evicted_records(&header) : 0;
		evicted += lost;
		at_source += hk_chunk_evicted_at_source(&header);
		elsewhere += is_evicted ? header.shed_records - lost : 0;
		records += is_evicted ? 0 : (uint64_t)header.records + header.long_records;
		held += header.total_bytes;
	}
	file_close(&file);
	if (r < 0 && r != -EPROTO) {
		return r;
	}
	Hk__Process *state = process->state;
	process->held_bytes = held;
	process->file_records = records + evicted + (process->remote ? 0 : elsewhere);
	if (process->remote) {
		process->remote->evicted_at_source = at_source;
	}
	if (state->records_shed != evicted || state->records_elsewhere != elsewhere) {
		state->records_shed = evicted;
		state->records_elsewhere = elsewhere;
		process->changed = true;
	}
	return 0;
}
