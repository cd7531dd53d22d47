#include "cli/timeline/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/merge/merge.h"
#include "chunk/read/cursor.h"
#include "chunk/read/file.h"
#include "cli/flow/flow.h"
#include "cli/span.h"
#include "cli/timeline/nest.h"
#include "cli/timeline/source.h"
#include "cli/timeline/tracks.h"
#include "hooks/hook.h"
#include "report/clock/job_clock.h"
#include "report/model/report.h"
#include "report/model/role.h"
#include "text/name.h"

#define PROGRESS_RECORDS 65536u

/* The chunk file of one process. */
struct source {
	struct hk_process_track *track;
	struct hk_report_clock clock;
	uint64_t tick_ns_q32; /* conversion of its durations */
	struct hk_cursor *cursor;
	int fd;
};

struct timeline {
	const Hk__Snapshot *snapshot;
	const struct hk_timeline_options *options;
	const struct hk_exporter_ops *ops;
	struct hk_exporter *exporter;
	struct hk_tracks *tracks;
	struct hk_loader *loader;
	struct hk_flows *flows; /* NULL: not requested */
	struct source *sources; /* array of the processes with a file */
	size_t source_count;
	uint64_t origin_ns; /* Unix time of the job's start */
	uint64_t start_ns;  /* start of the export: no event is earlier */
	uint64_t total;	    /* records in the files by their headers */
	struct hk_timeline_result result;
};

static bool keep(void *context, const Hk__Process *process)
{
	const struct hk_timeline_options *options = context;

	return (!options->ranks_own || (process->role != HK__ROLE__ROLE_HELPER &&
					process->role != HK__ROLE__ROLE_LAUNCHER)) &&
	       hk_span_has_rank(options->ranks, options->rank_count, hk_report_rank_of(process));
}

/* Converts times since the job's start to Unix time; a damaged clock's times are clamped. */
static uint64_t unix_ns(const struct timeline *timeline, int64_t since_ns)
{
	__int128 ns = (__int128)timeline->origin_ns + since_ns;

	if (ns < (__int128)timeline->start_ns) {
		return timeline->start_ns;
	}
	return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

/* ---- files ---- */

/* Returns true for errors of hookcli itself, not of a file: continuing would hide them. */
static bool is_ours(int rc)
{
	return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

static int open_source(struct timeline *timeline, const char *directory,
		       struct hk_process_track *track, const struct hk_report_clock *clocks)
{
	const Hk__Process *process = hk_process_track_process(track);
	struct source *source = &timeline->sources[timeline->source_count];
	int fd = hk_source_open(timeline->snapshot->job, directory, process);
	int rc;

	if (fd == -ENOENT && process->last_chunk == 0) {
		timeline->result.unrecorded++;
		return 0;
	}
	rc = fd < 0 ? fd : hk_cursor_new(timeline->loader, fd, &source->cursor);
	if (rc < 0) {
		if (fd >= 0) {
			close(fd);
		}
		timeline->result.newer += rc == -EPROTO;
		timeline->result.damaged += rc != -EPROTO;
		return is_ours(rc) ? rc : 0;
	}
	source->fd = fd;
	source->track = track;
	source->clock = clocks[hk_process_track_ordinal(track)];
	source->tick_ns_q32 = process->tick_ns_q32 ? process->tick_ns_q32 : 1ull << 32;
	timeline->source_count++;
	timeline->total += hk_cursor_stats(source->cursor)->records;
	return 0;
}

/* Sets the start of the export to that of the earliest process, which may have started before the
 * job was known. */
static void find_start(struct timeline *timeline, const struct hk_report_clock *clocks)
{
	timeline->origin_ns = hk_report_clock_origin(timeline->snapshot);
	timeline->start_ns = timeline->origin_ns;
	for (size_t i = 0; i < timeline->snapshot->n_processes; i++) {
		int64_t since_ns = clocks[i].since_ns;

		if (since_ns < 0 && 0 - (uint64_t)since_ns <= timeline->origin_ns &&
		    timeline->origin_ns + (uint64_t)since_ns < timeline->start_ns) {
			timeline->start_ns = timeline->origin_ns + (uint64_t)since_ns;
		}
	}
}

static int open_sources(struct timeline *timeline, const char *directory)
{
	size_t count = hk_tracks_count(timeline->tracks);
	struct hk_report_clock *clocks = NULL;
	int rc = hk_report_clock_all(timeline->snapshot, &clocks);

	if (rc < 0) {
		return rc;
	}
	find_start(timeline, clocks);
	timeline->sources = calloc(count + 1, sizeof(*timeline->sources));
	timeline->loader = hk_loader_new();
	rc = timeline->sources && timeline->loader ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = open_source(timeline, directory, hk_tracks_process(timeline->tracks, i),
				 clocks);
	}
	free(clocks);
	return rc;
}

/* ---- missing records ---- */

/* Notes that calls of SOURCE from TICKS on may be missing. */
static void doubt(struct timeline *timeline, const struct source *source, uint64_t ticks)
{
	if (timeline->flows) {
		hk_flows_doubt(timeline->flows, hk_process_track_shown(source->track)->index,
			       unix_ns(timeline, hk_report_clock_ns(&source->clock, ticks)));
	}
}

static int mark(struct timeline *timeline, const struct source *source, uint64_t ticks,
		const char *why, uint64_t records)
{
	const struct hk_export_gap gap = {why, records};
	const struct hk_export_process *process = hk_process_track_shown(source->track);
	int64_t since_ns = hk_report_clock_ns(&source->clock, ticks);

	if (!timeline->ops->mark || since_ns > timeline->options->to_ns ||
	    since_ns < timeline->options->from_ns) {
		return 0;
	}
	return timeline->ops->mark(timeline->exporter, process, unix_ns(timeline, since_ns), &gap);
}

/* Marks the evicted records of a tombstone as missing, but not those that the root has. */
static int mark_evicted(struct timeline *timeline, const struct source *source,
			const struct hk_chunk_header *header)
{
	uint64_t shed = hk_chunk_evicted_records(header);

	timeline->result.shed += shed;
	timeline->result.elsewhere += header->shed_records - shed;
	return shed ? mark(timeline, source, header->max_end_ticks, "shed", shed) : 0;
}

static int mark_lost(struct timeline *timeline, const struct source *source, uint64_t ticks,
		     uint64_t lost)
{
	timeline->result.lost += lost;
	return lost ? mark(timeline, source, ticks, "lost", lost) : 0;
}

/* Marks missing records by the headers of the chunks. These count the records lost until their end,
 * and their numbers have no gaps. */
static int mark_gaps(struct timeline *timeline, const struct source *source)
{
	struct hk_chunk_walk walk = HK_CHUNK_WALK(source->fd);
	const Hk__Process *process = hk_process_track_process(source->track);
	struct hk_chunk_header header;
	uint64_t offset, lost = 0, last_number = 0, end_ticks = 0;
	int rc;

	while ((rc = hk_chunk_walk_next(&walk, &header, &offset)) > 0) {
		if (last_number && hk_chunk_first_number(&header) != last_number + 1) {
			timeline->result.damaged++;
			doubt(timeline, source, end_ticks);
		}
		last_number = header.number;
		if (hk_chunk_is_evicted(&header) || header.lost_records > lost) {
			doubt(timeline, source,
			      header.min_start_ticks < end_ticks ? header.min_start_ticks
								 : end_ticks);
		}
		end_ticks = header.max_end_ticks > end_ticks ? header.max_end_ticks : end_ticks;
		rc = hk_chunk_is_evicted(&header) ? mark_evicted(timeline, source, &header) : 0;
		if (rc == 0 && header.lost_records > lost) {
			rc = mark_lost(timeline, source, end_ticks, header.lost_records - lost);
			lost = header.lost_records;
		}
		if (rc < 0) {
			return rc;
		}
	}
	/* Statistics know of a chunk only after it was written. */
	timeline->result.damaged += last_number < process->last_chunk;
	if (last_number < process->last_chunk || process->lost_records > lost) {
		doubt(timeline, source, end_ticks);
	}
	if (rc == 0 && process->lost_records > lost) {
		rc = mark_lost(timeline, source, end_ticks, process->lost_records - lost);
	}
	return rc;
}

/* ---- calls ---- */

struct spot {
	struct timeline *timeline;
	struct hk_tracks_thread *thread;
};

/* Returns whether the innermost call is inside a matched call of the same domain, as when one
 * library calls a lower one. Then the outer call counts. */
static bool is_handed_on(const struct hk_nest *nest)
{
	const struct hk_export_site *site = nest->slices[nest->depth - 1].site;

	for (uint32_t i = 0; i + 1 < nest->depth; i++) {
		const struct hk_export_site *outer = nest->slices[i].site;

		if (hk_flows_wants(outer) && strcmp(outer->domain, site->domain) == 0) {
			return true;
		}
	}
	return false;
}

static int open_call(void *context, const struct hk_slice *slice)
{
	struct spot *spot = context;
	struct timeline *timeline = spot->timeline;
	struct hk_nest *nest = &spot->thread->nest;
	struct hk_slice *kept = &nest->slices[nest->depth - 1];
	int rc = 0;

	timeline->result.calls++;
	if (timeline->flows && hk_flows_wants(slice->site) && !is_handed_on(nest)) {
		rc = hk_flows_open(timeline->flows, &spot->thread->shown, kept, true);
	}
	return rc < 0 || !timeline->ops->open
		   ? rc
		   : timeline->ops->open(timeline->exporter, &spot->thread->shown, kept);
}

static int close_call(void *context, const struct hk_slice *slice)
{
	struct spot *spot = context;
	struct timeline *timeline = spot->timeline;
	struct hk_slice arrived;

	if (slice->flow_held) {
		arrived = *slice;
		int rc = hk_flows_close(timeline->flows, &arrived);

		if (rc < 0) {
			return rc;
		}
		slice = &arrived;
	}
	return timeline->ops->close(timeline->exporter, &spot->thread->shown, slice);
}

/* Counts a call that ended before the export begins, so that later calls keep the numbers by which
 * they match. */
static int pass_by(struct timeline *timeline, const struct hk_tracks_thread *thread,
		   struct hk_slice *slice)
{
	int rc = 0;

	if (timeline->flows && hk_flows_wants(slice->site)) {
		rc = hk_flows_open(timeline->flows, &thread->shown, slice, false);
		hk_flows_skip(timeline->flows, slice);
	}
	return rc;
}

static struct hk_nest_sink sink_at(struct spot *spot)
{
	return (struct hk_nest_sink){.open = open_call, .close = close_call, .context = spot};
}

static int add_call(struct timeline *timeline, const struct source *source,
		    const struct hk_merged *merged)
{
	const struct hk_record *record = merged->record;
	int64_t end_since = hk_source_end_ns(&source->clock, source->tick_ns_q32, record);
	struct spot spot = {.timeline = timeline};
	struct hk_nest_sink sink = sink_at(&spot);
	struct hk_slice slice;
	int rc;

	if (end_since < timeline->options->from_ns && !timeline->flows) {
		return 0;
	}
	spot.thread = hk_process_track_thread(timeline->tracks, source->track, record->thread);
	const struct hk_export_site *site = hk_process_track_site(
	    source->track, record->site, hk_cursor_site(source->cursor, record->site));
	if (!spot.thread || !site) {
		return -ENOMEM;
	}
	hk_source_slice(record, site, &slice);
	slice.stack = timeline->options->functions ? slice.stack : 0;
	slice.start_ns = unix_ns(timeline, merged->start_ns);
	slice.end_ns = unix_ns(timeline, end_since);
	if (end_since < timeline->options->from_ns) {
		return pass_by(timeline, spot.thread, &slice);
	}
	if (!spot.thread->introduced) {
		spot.thread->introduced = true;
		rc = timeline->ops->thread
			 ? timeline->ops->thread(timeline->exporter, &spot.thread->shown)
			 : 0;
		if (rc < 0) {
			return rc;
		}
	}
	if (hk_source_is_instant(site)) {
		timeline->result.calls++;
		timeline->result.instants++;
		timeline->result.activities += hk_meaning_is_activity(site->meaning);
		return timeline->ops->instant
			   ? timeline->ops->instant(timeline->exporter, &spot.thread->shown, &slice)
			   : 0;
	}
	rc = hk_nest_add(&spot.thread->nest, &slice, &sink);
	if (rc == -E2BIG) {
		timeline->result.too_deep++;
		return 0;
	}
	return rc;
}

static int64_t convert(const void *context, uint64_t ticks)
{
	return hk_report_clock_ns(context, ticks);
}

static int merge_new(const struct timeline *timeline, struct hk_merge **ret_merge)
{
	struct hk_merge_input *inputs = calloc(timeline->source_count + 1, sizeof(*inputs));
	int rc;

	if (!inputs) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < timeline->source_count; i++) {
		inputs[i].batch = hk_merge_cursor_batch;
		inputs[i].context = timeline->sources[i].cursor;
		inputs[i].clock.convert = convert;
		inputs[i].clock.context = &timeline->sources[i].clock;
	}
	rc = hk_merge_new(inputs, timeline->source_count, ret_merge);
	free(inputs);
	return rc;
}

static void tell_progress(const struct timeline *timeline)
{
	if (timeline->options->progress) {
		uint64_t after = timeline->total / 100 * timeline->ops->end_percent;

		timeline->options->progress(timeline->options->context, timeline->result.records,
					    timeline->total + after);
	}
}

static int export_record(struct timeline *timeline, const struct hk_merged *merged)
{
	if (timeline->result.records++ % PROGRESS_RECORDS == 0) {
		tell_progress(timeline);
	}
	if (!hk_source_is_call(merged->record->kind)) {
		return 0;
	}
	return add_call(timeline, &timeline->sources[merged->input], merged);
}

static int export_calls(struct timeline *timeline)
{
	struct hk_merge *merge = NULL;
	struct hk_merged merged;
	int more, rc = merge_new(timeline, &merge);

	while (rc == 0 && (more = hk_merge_next(merge, &merged)) != 0) {
		if (more < 0) {
			/* The rest of one file is unreadable. The merge continues without it. */
			timeline->result.damaged++;
			rc = is_ours(more) ? more : 0;
		} else if (merged.start_ns > timeline->options->to_ns) {
			break;
		} else {
			rc = export_record(timeline, &merged);
		}
	}
	hk_merge_free(merge);
	return rc;
}

static int close_calls(struct timeline *timeline)
{
	struct spot spot = {.timeline = timeline};
	struct hk_nest_sink sink = sink_at(&spot);

	for (size_t i = 0; i < hk_tracks_count(timeline->tracks); i++) {
		struct hk_process_track *track = hk_tracks_process(timeline->tracks, i);

		while ((spot.thread = hk_process_track_next_thread(track, spot.thread))) {
			int rc = hk_nest_finish(&spot.thread->nest, &sink);

			if (rc < 0) {
				return rc;
			}
		}
	}
	return 0;
}

/* ---- the whole ---- */

static int begin(struct timeline *timeline)
{
	const Hk__Job *job = timeline->snapshot->job;
	char *id = hk_name_utf8(job ? job->id : "");
	char *command = hk_name_utf8(job ? job->command : "");
	struct hk_export_job shown = {
	    .id = id,
	    .command = command,
	    .functions = timeline->options->functions,
	    .start_ns = timeline->start_ns,
	    .processes = hk_tracks_shown(timeline->tracks),
	    .process_count = hk_tracks_count(timeline->tracks),
	    .many_nodes = hk_report_clock_nodes(timeline->snapshot) > 1,
	    .snapshot = timeline->snapshot,
	    .origin_ns = timeline->origin_ns,
	    .from_ns = timeline->options->from_ns > INT64_MIN
			   ? unix_ns(timeline, timeline->options->from_ns)
			   : 0,
	    .to_ns = timeline->options->to_ns < INT64_MAX
			 ? unix_ns(timeline, timeline->options->to_ns)
			 : UINT64_MAX,
	};
	int rc = id && command ? timeline->ops->begin(timeline->exporter, &shown) : -ENOMEM;

	free(id);
	free(command);
	return rc;
}

static int run(struct timeline *timeline, const char *directory)
{
	int rc = open_sources(timeline, directory);

	if (rc < 0) {
		return rc;
	}
	if (timeline->ops->flows) {
		timeline->flows = hk_flows_new(hk_tracks_count(timeline->tracks));
		if (!timeline->flows) {
			return -ENOMEM;
		}
	}
	rc = begin(timeline);
	for (size_t i = 0; rc == 0 && i < timeline->source_count; i++) {
		rc = mark_gaps(timeline, &timeline->sources[i]);
	}
	if (rc == 0) {
		rc = export_calls(timeline);
	}
	if (rc == 0) {
		rc = close_calls(timeline);
	}
	for (size_t i = 0; i < timeline->source_count; i++) {
		timeline->result.damaged += hk_cursor_stats(timeline->sources[i].cursor)->damaged;
	}
	if (rc == 0 && timeline->flows) {
		timeline->result.flows = hk_flows_result(timeline->flows);
		rc = timeline->ops->flows(timeline->exporter, &timeline->result.flows);
	}
	return rc == 0 ? timeline->ops->end(timeline->exporter) : rc;
}

static void forget_threads(struct timeline *timeline)
{
	if (!timeline->ops->forget) {
		return;
	}
	for (size_t i = 0; i < hk_tracks_count(timeline->tracks); i++) {
		struct hk_process_track *track = hk_tracks_process(timeline->tracks, i);
		struct hk_tracks_thread *thread = NULL;

		while ((thread = hk_process_track_next_thread(track, thread))) {
			timeline->ops->forget(timeline->exporter, &thread->shown);
		}
	}
}

int hk_timeline_export(const Hk__Snapshot *snapshot, const char *directory,
		       const struct hk_exporter_ops *ops, const struct hk_export_target *target,
		       const struct hk_timeline_options *options,
		       struct hk_timeline_result *ret_result)
{
	struct timeline timeline = {.snapshot = snapshot, .options = options, .ops = ops};
	int rc = hk_tracks_new(snapshot, keep, (void *)options, &timeline.tracks);

	if (rc < 0) {
		return rc;
	}
	timeline.result.processes = hk_tracks_count(timeline.tracks);
	timeline.exporter = ops->create(target);
	rc = timeline.exporter ? 0 : -ENOMEM;
	rc = rc == 0 ? run(&timeline, directory) : rc;
	forget_threads(&timeline);
	for (size_t i = 0; i < timeline.source_count; i++) {
		hk_cursor_free(timeline.sources[i].cursor);
		close(timeline.sources[i].fd);
	}
	free(timeline.sources);
	hk_flows_free(timeline.flows);
	hk_loader_free(timeline.loader);
	ops->free(timeline.exporter);
	hk_tracks_free(timeline.tracks);
	if (rc == 0) {
		*ret_result = timeline.result;
	}
	return rc;
}
