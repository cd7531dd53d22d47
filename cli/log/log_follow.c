#include "cli/log/log_follow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "base/log.h"
#include "chunk/codec/header.h"
#include "chunk/read/catalog.h"
#include "chunk/read/file.h"
#include "cli/command.h"
#include "cli/job/job_open.h"
#include "cli/log/log_line.h"
#include "cli/span.h"
#include "report/clock/job_clock.h"
#include "report/model/report.h"
#include "report/model/role.h"
#include "timeline/source.h"
#include "timeline/tracks.h"

#define HOLD_BACK_NS 2000000000
#define PAUSE_NS 250000000
#define ORPHANED_LOOKS \
	20 /* polls without a collector, after which no more records will be stored */
#define LINES_MAX (1u << 18) /* most lines held back; more shorten the window */
#define UID_BYTES 16u

/* Position in the file of one process. */
struct reader {
	uint8_t uid[UID_BYTES];
	int fd; /* -1: there is no file yet */
	struct hk_chunk_walk walk;
	struct hk_catalog catalog;
	uint64_t lost;
	UT_hash_handle hh;
};

struct held {
	int64_t start_ns;
	uint64_t number; /* order of reading, for lines with equal starts */
	char *text;
};

struct follow {
	const char *directory;
	const struct hk_log_options *options;
	FILE *output;
	struct reader *readers;
	struct hk_chunk_reader *chunk;
	struct hk_chunk_buffer buffer;
	struct held *held;
	size_t held_count, held_capacity;
	uint64_t next_number;
	uint64_t damaged;
	unsigned orphaned; /* polls in a row without a collector */
	struct hk_log_style style;
};

/* State of one poll of the job. */
struct log_poll {
	struct follow *follow;
	const Hk__Job *job;
	struct hk_tracks *tracks;
	struct hk_process_track *track;
	const struct hk_report_clock *clock;
	uint64_t tick_ns_q32;
	struct reader *reader;
};

static bool keep(void *context, const Hk__Process *process)
{
	const struct hk_log_options *options = context;

	return hk_span_has_rank(options->ranks, options->rank_count, hk_report_rank_of(process));
}

/* ---- lines ---- */

static int hold(struct follow *follow, int64_t start_ns, const char *line, size_t length)
{
	if (follow->held_count == follow->held_capacity) {
		size_t wanted = follow->held_capacity ? follow->held_capacity * 2 : 1024;
		struct held *grown = reallocarray(follow->held, wanted, sizeof(*grown));
		if (!grown) {
			return -ENOMEM;
		}
		follow->held = grown;
		follow->held_capacity = wanted;
	}
	char *text = strndup(line, length);
	if (!text) {
		return -ENOMEM;
	}
	follow->held[follow->held_count++] = (struct held){start_ns, follow->next_number++, text};
	return 0;
}

static int compare_held(const void *left, const void *right)
{
	const struct held *a = left, *b = right;

	if (a->start_ns != b->start_ns) {
		return a->start_ns < b->start_ns ? -1 : 1;
	}
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Writes the lines that started at UNTIL_NS or before, in order. Writes further ones until at most
 * LINES_MAX are held back. */
static void release(struct follow *follow, int64_t until_ns)
{
	size_t done = 0;

	if (follow->held_count) {
		qsort(follow->held, follow->held_count, sizeof(*follow->held), compare_held);
	}
	while (done < follow->held_count &&
	       (follow->held[done].start_ns <= until_ns || follow->held_count - done > LINES_MAX)) {
		fputs(follow->held[done].text, follow->output);
		free(follow->held[done++].text);
	}
	follow->held_count -= done;
	if (done) {
		memmove(follow->held, follow->held + done,
			follow->held_count * sizeof(*follow->held));
	}
	fflush(follow->output);
}

/* ---- chunks ---- */

static int take_record(const struct log_poll *poll, const struct hk_record *record)
{
	struct follow *follow = poll->follow;
	char line[HK_LOG_LINE_BYTES];
	struct hk_slice slice;

	if (!hk_source_is_call(record->kind)) {
		return 0;
	}
	const struct hk_tracks_thread *thread =
	    hk_process_track_thread(poll->tracks, poll->track, record->thread);
	const struct hk_export_site *site = hk_process_track_site(
	    poll->track, record->site, hk_catalog_find(&poll->reader->catalog, record->site));
	if (!thread || !site) {
		return -ENOMEM;
	}
	int64_t since_ns = hk_report_clock_ns(poll->clock, record->start_ticks);
	hk_source_slice(record, site, &slice);
	slice.start_ns = follow->style.origin_ns + (uint64_t)since_ns;
	slice.end_ns = follow->style.origin_ns +
		       (uint64_t)hk_source_end_ns(poll->clock, poll->tick_ns_q32, record);
	if (!hk_log_filter_pass(follow->options->filter, &thread->shown, &slice)) {
		return 0;
	}
	size_t length = hk_log_line_call(&follow->style, &thread->shown, &slice, line);
	return hold(follow, since_ns, line, length);
}

static int take_gap(const struct log_poll *poll, uint64_t ticks, const char *why, uint64_t records)
{
	struct follow *follow = poll->follow;
	char line[HK_LOG_LINE_BYTES];

	if (records == 0) {
		return 0;
	}
	int64_t since_ns = hk_report_clock_ns(poll->clock, ticks);
	size_t length = hk_log_line_gap(&follow->style, hk_process_track_shown(poll->track),
					follow->style.origin_ns + (uint64_t)since_ns,
					&(struct hk_export_gap){why, records}, line);
	return hold(follow, since_ns, line, length);
}

static int take_gaps(const struct log_poll *poll, const struct hk_chunk_header *header)
{
	uint64_t known = poll->reader->lost;
	uint64_t lost = header->lost_records > known ? header->lost_records - known : 0;

	poll->reader->lost += lost;
	int rc = take_gap(poll, header->max_end_ticks, "shed", hk_chunk_evicted_records(header));
	return rc < 0 ? rc : take_gap(poll, header->max_end_ticks, "lost", lost);
}

/* Returns 1 if the chunk was evicted after its header was read: read the header again. */
static int take_chunk(const struct log_poll *poll, const struct hk_chunk_header *header,
		      uint64_t offset)
{
	static const uint32_t types[] = {HK_SECTION_LANES, HK_SECTION_LONG_LANES};
	struct follow *follow = poll->follow;
	const struct hk_record *records;
	size_t count;
	int rc = hk_chunk_file_read(poll->reader->fd, offset, header->total_bytes, &follow->buffer);

	if (rc == 0) {
		rc = hk_chunk_reader_open(follow->chunk, follow->buffer.bytes, header->total_bytes);
	}
	if (rc == 0) {
		rc = hk_catalog_take(&poll->reader->catalog, follow->chunk);
	}
	for (unsigned t = 0; rc == 0 && t < 2; t++) {
		rc = hk_chunk_reader_records(follow->chunk, types[t], &records, &count);
		for (size_t i = 0; rc == 0 && i < count; i++) {
			rc = take_record(poll, &records[i]);
		}
	}
	if (rc < 0 && rc != -ENOMEM) {
		if (!hk_chunk_is_evicted(header) &&
		    hk_chunk_file_is_evicted(poll->reader->fd, offset)) {
			return 1;
		}
		follow->damaged++;
		rc = 0;
	}
	return rc < 0 ? rc : take_gaps(poll, header);
}

/* The next poll continues at the end of the file, which may be half a chunk now. */
static int take_chunks(const struct log_poll *poll)
{
	struct hk_chunk_walk *walk = &poll->reader->walk;
	struct hk_chunk_header header;
	uint64_t offset;

	for (;;) {
		struct hk_chunk_walk before = *walk;
		int rc = hk_chunk_walk_next(walk, &header, &offset);
		if (rc <= 0) {
			*walk = before;
			return rc;
		}
		rc = take_chunk(poll, &header, offset);
		if (rc < 0) {
			return rc;
		}
		if (rc > 0) {
			*walk = before;
		}
	}
}

static struct reader *find_reader(struct follow *follow, const Hk__Job *job,
				  const Hk__Process *process)
{
	struct reader *reader;

	HASH_FIND(hh, follow->readers, process->uid.data, UID_BYTES, reader);
	if (!reader) {
		reader = calloc(1, sizeof(*reader));
		if (!reader || hk_catalog_init(&reader->catalog) < 0) {
			free(reader);
			return NULL;
		}
		reader->fd = -1;
		memcpy(reader->uid, process->uid.data, UID_BYTES);
		HASH_ADD(hh, follow->readers, uid, UID_BYTES, reader);
		if (!reader->hh.tbl) {
			hk_catalog_fini(&reader->catalog);
			free(reader);
			return NULL;
		}
	}
	if (reader->fd < 0) {
		reader->fd = hk_source_open(job, follow->directory, process);
		reader->walk = HK_CHUNK_WALK(reader->fd);
	}
	return reader;
}

static int take_process(struct log_poll *poll, const struct hk_report_clock *clocks)
{
	const Hk__Process *process = hk_process_track_process(poll->track);

	if (process->uid.len != UID_BYTES) {
		return 0;
	}
	poll->reader = find_reader(poll->follow, poll->job, process);
	if (!poll->reader) {
		return -ENOMEM;
	}
	poll->clock = &clocks[hk_process_track_ordinal(poll->track)];
	poll->tick_ns_q32 = process->tick_ns_q32 ? process->tick_ns_q32 : 1ull << 32;
	return poll->reader->fd < 0 ? 0 : take_chunks(poll);
}

/* ---- the whole ---- */

static int64_t now_since(const struct follow *follow)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)follow->style.origin_ns;
}

static int poll_job(struct follow *follow, const Hk__Snapshot *snapshot)
{
	struct log_poll poll = {.follow = follow, .job = snapshot->job};
	struct hk_report_clock *clocks = NULL;
	int rc = hk_report_clock_all(snapshot, &clocks);

	follow->style.origin_ns = hk_report_clock_origin(snapshot);
	if (rc == 0) {
		rc = hk_tracks_new(snapshot, keep, (void *)follow->options, &poll.tracks);
	}
	for (size_t i = 0; rc == 0 && i < hk_tracks_count(poll.tracks); i++) {
		poll.track = hk_tracks_process(poll.tracks, i);
		rc = take_process(&poll, clocks);
	}
	hk_tracks_free(poll.tracks);
	free(clocks);
	return rc;
}

/* Polls the job once. Returns 1 if the job runs, 0 if it has ended, or -errno. Sets *ret_code to
 * the exit code at its end. */
static int step(struct follow *follow, int *ret_code)
{
	struct hk_job job;

	*ret_code = hk_job_open(follow->directory, &job);
	if (*ret_code != HK_EXIT_DONE) {
		return 0;
	}
	bool closed = job.snapshot->job->closed, more = !closed && job.live;
	int rc = poll_job(follow, job.snapshot);
	/* `run` replaces a collector that dies, so the next poll may find the new one. */
	follow->orphaned = more || closed ? 0 : follow->orphaned + 1;
	more = more || (follow->orphaned > 0 && follow->orphaned < ORPHANED_LOOKS);
	release(follow, more ? now_since(follow) - HOLD_BACK_NS : INT64_MAX);
	if (!more && !closed) {
		hk_warning("the job has no collector any more: it ends here");
	}
	*ret_code = job.damaged ? HK_EXIT_FAILED : HK_EXIT_DONE;
	hk_job_close(&job);
	return rc < 0 ? rc : more && !ferror(follow->output);
}

static void finish(struct follow *follow)
{
	struct reader *reader, *next;

	HASH_ITER (hh, follow->readers, reader, next) {
		HASH_DEL(follow->readers, reader);
		hk_catalog_fini(&reader->catalog);
		if (reader->fd >= 0) {
			close(reader->fd);
		}
		free(reader);
	}
	for (size_t i = 0; i < follow->held_count; i++) {
		free(follow->held[i].text);
	}
	free(follow->held);
	free(follow->buffer.bytes);
	hk_chunk_reader_free(follow->chunk);
}

int hk_log_follow(const char *directory, const struct hk_log_options *options, FILE *output)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct follow follow = {.directory = directory,
				.options = options,
				.output = output,
				.style.colour = options->colour};
	int code = HK_EXIT_FAILED, rc;

	follow.chunk = hk_chunk_reader_new();
	rc = follow.chunk ? 1 : -ENOMEM;
	while (rc > 0 && (rc = step(&follow, &code)) > 0) {
		nanosleep(&pause, NULL);
	}
	if (rc < 0) {
		hk_error("log stopped: %s", strerror(-rc));
		code = HK_EXIT_FAILED;
	} else if (follow.damaged) {
		hk_warning("%" PRIu64 " damaged parts of the job's files were left out",
			   follow.damaged);
		code = HK_EXIT_FAILED;
	}
	finish(&follow);
	return code;
}
