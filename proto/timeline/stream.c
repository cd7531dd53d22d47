#include "timeline/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/merge/merge.h"
#include "chunk/read/cursor.h"
#include "chunk/read/file.h"
#include "report/clock/job_clock.h"
#include "timeline/source.h"

struct hk_stream_source {
	struct hk_process_track *track;
	struct hk_report_clock clock;
	uint64_t tick_ns_q32; /* conversion of its durations */
	struct hk_cursor *cursor;
	int fd;
};

struct hk_stream {
	const Hk__Snapshot *snapshot;
	struct hk_tracks *tracks;
	struct hk_loader *loader;
	struct hk_merge *merge;		  /* NULL until the first record */
	struct hk_stream_source *sources; /* array of the processes with a file */
	size_t source_count;
	uint64_t origin_ns, start_ns;
	int64_t from_ns; /* since the job's start; records that end before it may be left out */
	struct hk_stream_stats stats;
};

uint64_t hk_stream_unix_ns(const struct hk_stream *stream, int64_t since_ns)
{
	__int128 ns = (__int128)stream->origin_ns + since_ns;

	if (ns < (__int128)stream->start_ns) {
		return stream->start_ns;
	}
	return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

uint64_t hk_stream_origin_ns(const struct hk_stream *stream)
{
	return stream->origin_ns;
}

uint64_t hk_stream_start_ns(const struct hk_stream *stream)
{
	return stream->start_ns;
}

struct hk_stream_stats hk_stream_stats(const struct hk_stream *stream)
{
	struct hk_stream_stats stats = stream->stats;

	for (size_t i = 0; i < stream->source_count; i++) {
		stats.damaged += hk_cursor_stats(stream->sources[i].cursor)->damaged;
	}
	return stats;
}

/* ---- files ---- */

/* Returns true for errors of the reader itself, not of a file: continuing would hide them. */
static bool is_ours(int rc)
{
	return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

/* Times in headers are rounded to ticks; this is more than any of them is off. */
#define ROUNDED_NS 1000

/* The chunks that a cursor reads. */
struct wanted {
	const struct hk_report_clock *clock;
	int64_t from_ns;
};

static bool wants(void *context, const struct hk_chunk_header *header)
{
	const struct wanted *wanted = context;
	__int128 end_ns = hk_report_clock_ns(wanted->clock, header->max_end_ticks);

	return end_ns + ROUNDED_NS >= wanted->from_ns;
}

static int open_source(struct hk_stream *stream, const char *directory,
		       struct hk_process_track *track, const struct hk_report_clock *clocks)
{
	const Hk__Process *process = hk_process_track_process(track);
	struct hk_stream_source *source = &stream->sources[stream->source_count];
	size_t ordinal = hk_process_track_ordinal(track);
	struct wanted wanted = {&clocks[ordinal], stream->from_ns};
	int fd = hk_source_open(stream->snapshot->job, directory, process);
	int rc;

	if (fd == -ENOENT && process->last_chunk == 0) {
		stream->stats.unrecorded++;
		return 0;
	}
	rc = fd < 0 ? fd : hk_cursor_new_some(stream->loader, fd, wants, &wanted, &source->cursor);
	if (rc < 0) {
		if (fd >= 0) {
			close(fd);
		}
		stream->stats.newer += rc == -EPROTO;
		stream->stats.damaged += rc != -EPROTO;
		return is_ours(rc) ? rc : 0;
	}
	source->fd = fd;
	source->track = track;
	source->clock = clocks[ordinal];
	source->tick_ns_q32 = process->tick_ns_q32 ? process->tick_ns_q32 : 1ull << 32;
	stream->source_count++;
	stream->stats.total += hk_cursor_stats(source->cursor)->records;
	return 0;
}

/* Sets the start of the stream to that of the earliest process, which may have started before the
 * job was known. */
static void find_start(struct hk_stream *stream, const struct hk_report_clock *clocks)
{
	stream->origin_ns = hk_report_clock_origin(stream->snapshot);
	stream->start_ns = stream->origin_ns;
	for (size_t i = 0; i < stream->snapshot->n_processes; i++) {
		int64_t since_ns = clocks[i].since_ns;

		if (since_ns < 0 && 0 - (uint64_t)since_ns <= stream->origin_ns &&
		    stream->origin_ns + (uint64_t)since_ns < stream->start_ns) {
			stream->start_ns = stream->origin_ns + (uint64_t)since_ns;
		}
	}
}

static int open_sources(struct hk_stream *stream, const char *directory)
{
	size_t count = hk_tracks_count(stream->tracks);
	struct hk_report_clock *clocks = NULL;
	int rc = hk_report_clock_all(stream->snapshot, &clocks);

	if (rc < 0) {
		return rc;
	}
	find_start(stream, clocks);
	stream->sources = calloc(count + 1, sizeof(*stream->sources));
	stream->loader = hk_loader_new();
	rc = stream->sources && stream->loader ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = open_source(stream, directory, hk_tracks_process(stream->tracks, i), clocks);
	}
	free(clocks);
	return rc;
}

int hk_stream_new(const Hk__Snapshot *snapshot, const char *directory, struct hk_tracks *tracks,
		  int64_t from_ns, struct hk_stream **ret_stream)
{
	struct hk_stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		return -ENOMEM;
	}
	stream->snapshot = snapshot;
	stream->tracks = tracks;
	stream->from_ns = from_ns;
	int rc = open_sources(stream, directory);
	if (rc < 0) {
		hk_stream_free(stream);
		return rc;
	}
	*ret_stream = stream;
	return 0;
}

struct hk_stream *hk_stream_free(struct hk_stream *stream)
{
	if (!stream) {
		return NULL;
	}
	hk_merge_free(stream->merge);
	for (size_t i = 0; i < stream->source_count; i++) {
		hk_cursor_free(stream->sources[i].cursor);
		close(stream->sources[i].fd);
	}
	free(stream->sources);
	hk_loader_free(stream->loader);
	free(stream);
	return NULL;
}

/* ---- missing records ---- */

/* Where gaps of one file go. */
struct gaps {
	struct hk_stream *stream;
	const struct hk_stream_source *source;
	hk_stream_gap_fn *gap;
	void *context;
};

static int pass_gap(const struct gaps *gaps, enum hk_stream_gap_kind kind, uint64_t ticks,
		    uint64_t records)
{
	const struct hk_stream_gap gap = {
	    .kind = kind,
	    .process = hk_process_track_shown(gaps->source->track),
	    .since_ns = hk_report_clock_ns(&gaps->source->clock, ticks),
	    .records = records,
	};

	return gaps->gap ? gaps->gap(gaps->context, &gap) : 0;
}

/* Passes on the evicted records of a tombstone, but not those that the root has. */
static int pass_evicted(const struct gaps *gaps, const struct hk_chunk_header *header)
{
	uint64_t shed = hk_chunk_evicted_records(header);

	gaps->stream->stats.shed += shed;
	gaps->stream->stats.elsewhere += header->shed_records - shed;
	return shed ? pass_gap(gaps, HK_GAP_SHED, header->max_end_ticks, shed) : 0;
}

static int pass_lost(const struct gaps *gaps, uint64_t ticks, uint64_t lost)
{
	gaps->stream->stats.lost += lost;
	return lost ? pass_gap(gaps, HK_GAP_LOST, ticks, lost) : 0;
}

/* What the headers of a file have said so far. */
struct walked {
	uint64_t lost, last_number, end_ticks;
};

/* Passes on what HEADER, which follows the headers in WALKED, shows to be missing. */
static int pass_header(const struct gaps *gaps, const struct hk_chunk_header *header,
		       struct walked *walked)
{
	int rc = 0;

	if (walked->last_number && hk_chunk_first_number(header) != walked->last_number + 1) {
		gaps->stream->stats.damaged++;
		rc = pass_gap(gaps, HK_GAP_DOUBT, walked->end_ticks, 0);
	}
	walked->last_number = header->number;
	if (rc == 0 && (hk_chunk_is_evicted(header) || header->lost_records > walked->lost)) {
		rc = pass_gap(gaps, HK_GAP_DOUBT,
			      header->min_start_ticks < walked->end_ticks ? header->min_start_ticks
									  : walked->end_ticks,
			      0);
	}
	if (header->max_end_ticks > walked->end_ticks) {
		walked->end_ticks = header->max_end_ticks;
	}
	if (rc == 0 && hk_chunk_is_evicted(header)) {
		rc = pass_evicted(gaps, header);
	}
	if (rc == 0 && header->lost_records > walked->lost) {
		rc = pass_lost(gaps, walked->end_ticks, header->lost_records - walked->lost);
		walked->lost = header->lost_records;
	}
	return rc;
}

/* Finds the gaps of one file by the headers of its chunks. These count the records lost until their
 * end, and their numbers have no gaps. */
static int walk_gaps(const struct gaps *gaps)
{
	struct hk_chunk_walk walk = HK_CHUNK_WALK(gaps->source->fd);
	const Hk__Process *process = hk_process_track_process(gaps->source->track);
	struct hk_chunk_header header;
	struct walked walked = {0};
	uint64_t offset;
	int rc, more;

	while ((more = hk_chunk_walk_next(&walk, &header, &offset)) > 0) {
		rc = pass_header(gaps, &header, &walked);
		if (rc < 0) {
			return rc;
		}
	}
	/* Statistics know of a chunk only after it was written. */
	gaps->stream->stats.damaged += walked.last_number < process->last_chunk;
	rc = 0;
	if (walked.last_number < process->last_chunk || process->lost_records > walked.lost) {
		rc = pass_gap(gaps, HK_GAP_DOUBT, walked.end_ticks, 0);
	}
	if (rc == 0 && more == 0 && process->lost_records > walked.lost) {
		rc = pass_lost(gaps, walked.end_ticks, process->lost_records - walked.lost);
	}
	return rc < 0 ? rc : more;
}

int hk_stream_gaps(struct hk_stream *stream, hk_stream_gap_fn *gap, void *context)
{
	struct gaps gaps = {.stream = stream, .gap = gap, .context = context};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < stream->source_count; i++) {
		gaps.source = &stream->sources[i];
		rc = walk_gaps(&gaps);
	}
	return rc;
}

/* ---- records ---- */

static int64_t convert(const void *context, uint64_t ticks)
{
	return hk_report_clock_ns(context, ticks);
}

static int merge_new(struct hk_stream *stream)
{
	struct hk_merge_input *inputs = calloc(stream->source_count + 1, sizeof(*inputs));
	int rc;

	if (!inputs) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < stream->source_count; i++) {
		inputs[i].batch = hk_merge_cursor_batch;
		inputs[i].context = stream->sources[i].cursor;
		inputs[i].clock.convert = convert;
		inputs[i].clock.context = &stream->sources[i].clock;
	}
	rc = hk_merge_new(inputs, stream->source_count, &stream->merge);
	free(inputs);
	return rc;
}

int hk_stream_next(struct hk_stream *stream, struct hk_stream_record *ret_record)
{
	struct hk_merged merged;
	int more = stream->merge ? 0 : merge_new(stream);

	if (more < 0) {
		return more;
	}
	while ((more = hk_merge_next(stream->merge, &merged)) < 0) {
		/* The rest of one file is unreadable. The merge continues without it. */
		stream->stats.damaged++;
		if (is_ours(more)) {
			return more;
		}
	}
	if (more == 0) {
		return 0;
	}
	const struct hk_stream_source *source = &stream->sources[merged.input];
	*ret_record = (struct hk_stream_record){
	    .record = merged.record,
	    .source = source,
	    .start_ns = merged.start_ns,
	    .end_ns = hk_source_end_ns(&source->clock, source->tick_ns_q32, merged.record),
	};
	return 1;
}

int hk_stream_call(struct hk_stream *stream, const struct hk_stream_record *record,
		   struct hk_tracks_thread **ret_thread, struct hk_slice *ret_slice)
{
	const struct hk_stream_source *source = record->source;
	uint32_t id = record->record->site;
	struct hk_tracks_thread *thread =
	    hk_process_track_thread(stream->tracks, source->track, record->record->thread);
	const struct hk_export_site *site =
	    hk_process_track_site(source->track, id, hk_cursor_site(source->cursor, id));

	if (!thread || !site) {
		return -ENOMEM;
	}
	hk_source_slice(record->record, site, ret_slice);
	ret_slice->start_ns = hk_stream_unix_ns(stream, record->start_ns);
	ret_slice->end_ns = hk_stream_unix_ns(stream, record->end_ns);
	*ret_thread = thread;
	return 0;
}
