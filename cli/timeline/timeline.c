#include "cli/timeline/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/flow/flow.h"
#include "cli/span.h"
#include "cli/timeline/note_instants.h"
#include "hooks/hook.h"
#include "report/clock/job_clock.h"
#include "report/model/report.h"
#include "report/model/role.h"
#include "text/name.h"
#include "timeline/nest.h"
#include "timeline/source.h"
#include "timeline/stream.h"
#include "timeline/tracks.h"

#define PROGRESS_RECORDS 65536u

struct timeline {
	const Hk__Snapshot *snapshot;
	const struct hk_timeline_options *options;
	const struct hk_exporter_ops *ops;
	struct hk_exporter *exporter;
	struct hk_tracks *tracks;
	struct hk_stream *stream;
	struct hk_flows *flows; /* NULL: not requested */
	struct hk_note_instants *notes;
	struct hk_timeline_result result;
};

static bool keep(void *context, const Hk__Process *process)
{
	const struct hk_timeline_options *options = context;

	return (!options->ranks_own || (process->role != HK__ROLE__ROLE_HELPER &&
					process->role != HK__ROLE__ROLE_LAUNCHER)) &&
	       hk_span_has_rank(options->ranks, options->rank_count, hk_report_rank_of(process));
}

/* ---- missing records ---- */

static int mark(struct timeline *timeline, const struct hk_stream_gap *found)
{
	const struct hk_export_gap gap = {found->kind == HK_GAP_LOST ? "lost" : "shed",
					  found->records};

	if (!timeline->ops->mark || found->since_ns > timeline->options->to_ns ||
	    found->since_ns < timeline->options->from_ns) {
		return 0;
	}
	return timeline->ops->mark(timeline->exporter, found->process,
				   hk_stream_unix_ns(timeline->stream, found->since_ns), &gap);
}

/* Marks missing records, and tells the flows from when on calls may be missing. */
static int add_gap(void *context, const struct hk_stream_gap *gap)
{
	struct timeline *timeline = context;

	if (gap->kind != HK_GAP_DOUBT) {
		return mark(timeline, gap);
	}
	uint64_t from_ns = hk_stream_unix_ns(timeline->stream, gap->since_ns);
	if (timeline->flows) {
		hk_flows_doubt(timeline->flows, gap->process->index, from_ns);
	}
	return timeline->ops->doubt
		   ? timeline->ops->doubt(timeline->exporter, gap->process, from_ns)
		   : 0;
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

static int introduce(struct timeline *timeline, struct hk_tracks_thread *thread)
{
	bool known = thread->introduced || !timeline->ops->thread;

	thread->introduced = true;
	return known ? 0 : timeline->ops->thread(timeline->exporter, &thread->shown);
}

static int show_instant(struct timeline *timeline, struct hk_tracks_thread *thread,
			const struct hk_slice *slice)
{
	timeline->result.calls++;
	timeline->result.instants++;
	timeline->result.activities += hk_meaning_is_activity(slice->site->meaning);
	return timeline->ops->instant
		   ? timeline->ops->instant(timeline->exporter, &thread->shown, slice)
		   : 0;
}

/* Adds a call that lies in the export's range. */
static int show_call(struct timeline *timeline, struct hk_tracks_thread *thread,
		     const struct hk_slice *slice)
{
	struct spot spot = {.timeline = timeline, .thread = thread};
	struct hk_nest_sink sink = sink_at(&spot);
	int rc = introduce(timeline, thread);

	if (rc < 0) {
		return rc;
	}
	if (hk_source_is_instant(slice->site)) {
		return show_instant(timeline, thread, slice);
	}
	rc = hk_nest_add(&thread->nest, slice, &sink);
	if (rc == -E2BIG) {
		timeline->result.too_deep++;
		return 0;
	}
	return rc;
}

static int add_call(struct timeline *timeline, const struct hk_stream_record *record)
{
	bool passed = record->end_ns < timeline->options->from_ns;
	struct hk_tracks_thread *thread;
	struct hk_slice slice;

	if (passed && !timeline->flows) {
		return 0;
	}
	int rc = hk_stream_call(timeline->stream, record, &thread, &slice);
	if (rc < 0) {
		return rc;
	}
	slice.stack = timeline->options->functions ? slice.stack : 0;
	return passed ? pass_by(timeline, thread, &slice) : show_call(timeline, thread, &slice);
}

static void tell_progress(const struct timeline *timeline)
{
	if (timeline->options->progress) {
		uint64_t total = hk_stream_stats(timeline->stream).total;
		uint64_t after = total / 100 * timeline->ops->end_percent;

		timeline->options->progress(timeline->options->context, timeline->result.records,
					    total + after);
	}
}

static int export_record(struct timeline *timeline, const struct hk_stream_record *record)
{
	if (timeline->result.records++ % PROGRESS_RECORDS == 0) {
		tell_progress(timeline);
	}
	return hk_source_is_call(record->record->kind) ? add_call(timeline, record) : 0;
}

static int show_note(struct timeline *timeline, const struct hk_note_instant *note)
{
	uint64_t unix_ns = hk_stream_unix_ns(timeline->stream, note->since_ns);
	struct hk_slice slice = {.start_ns = unix_ns, .end_ns = unix_ns, .site = note->site};
	struct hk_tracks_thread *thread = hk_note_instant_thread(note, timeline->tracks);
	int rc = thread ? introduce(timeline, thread) : -ENOMEM;

	return rc < 0 ? rc : show_instant(timeline, thread, &slice);
}

/* Adds the notes before SINCE_NS that lie in the export's range. */
static int export_notes(struct timeline *timeline, int64_t since_ns)
{
	const struct hk_note_instant *note;
	int rc = 0;

	while (rc == 0 && (note = hk_note_instants_next(timeline->notes, since_ns))) {
		if (note->since_ns >= timeline->options->from_ns &&
		    note->since_ns <= timeline->options->to_ns) {
			rc = show_note(timeline, note);
		}
	}
	return rc;
}

static int export_calls(struct timeline *timeline)
{
	struct hk_stream_record record;
	int rc = 0, more = 1;

	while (rc == 0 && (more = hk_stream_next(timeline->stream, &record)) > 0 &&
	       record.start_ns <= timeline->options->to_ns) {
		rc = export_notes(timeline, record.start_ns);
		rc = rc == 0 ? export_record(timeline, &record) : rc;
	}
	rc = rc == 0 && more >= 0 ? export_notes(timeline, INT64_MAX) : rc;
	return more < 0 ? more : rc;
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
	    .start_ns = hk_stream_start_ns(timeline->stream),
	    .processes = hk_tracks_shown(timeline->tracks),
	    .process_count = hk_tracks_count(timeline->tracks),
	    .many_nodes = hk_report_clock_nodes(timeline->snapshot) > 1,
	    .snapshot = timeline->snapshot,
	    .origin_ns = hk_stream_origin_ns(timeline->stream),
	    .from_ns = timeline->options->from_ns > INT64_MIN
			   ? hk_stream_unix_ns(timeline->stream, timeline->options->from_ns)
			   : 0,
	    .to_ns = timeline->options->to_ns < INT64_MAX
			 ? hk_stream_unix_ns(timeline->stream, timeline->options->to_ns)
			 : UINT64_MAX,
	};
	int rc = id && command ? timeline->ops->begin(timeline->exporter, &shown) : -ENOMEM;

	free(id);
	free(command);
	return rc;
}

static void count(struct timeline *timeline)
{
	struct hk_stream_stats stats = hk_stream_stats(timeline->stream);

	timeline->result.lost = stats.lost;
	timeline->result.shed = stats.shed;
	timeline->result.elsewhere = stats.elsewhere;
	timeline->result.newer = stats.newer;
	timeline->result.damaged = stats.damaged;
	timeline->result.unrecorded = stats.unrecorded;
}

static int run(struct timeline *timeline, const char *directory)
{
	/* Flows count calls from the job's start on. */
	int64_t from_ns = timeline->ops->flows ? INT64_MIN : timeline->options->from_ns;
	int rc = hk_stream_new(timeline->snapshot, directory, timeline->tracks, from_ns,
			       &timeline->stream);

	rc = rc == 0 ? hk_note_instants_new(timeline->snapshot, timeline->tracks, &timeline->notes)
		     : rc;
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
	rc = rc == 0 ? hk_stream_gaps(timeline->stream, add_gap, timeline) : rc;
	rc = rc == 0 ? export_calls(timeline) : rc;
	rc = rc == 0 ? close_calls(timeline) : rc;
	count(timeline);
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
	hk_note_instants_free(timeline.notes);
	hk_stream_free(timeline.stream);
	hk_flows_free(timeline.flows);
	ops->free(timeline.exporter);
	hk_tracks_free(timeline.tracks);
	if (rc == 0) {
		*ret_result = timeline.result;
	}
	return rc;
}
