#include "calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call_table.h"
#include "report/model/role.h"
#include "timeline/nest.h"
#include "timeline/source.h"
#include "timeline/stream.h"
#include "timeline/tracks.h"

#define RECORDS_AT_ONCE (1u << 20)

enum state { READING, CLOSING, ENDED };

struct hk_calls {
	struct hk_job_snapshot *job;
	struct hk_tracks *tracks;
	struct hk_stream *stream;
	struct hk_call_table *table;
	int64_t from_ns, to_ns;
	enum state state;
	size_t process;			 /* CLOSING: its threads are being closed */
	struct hk_tracks_thread *thread; /* the last one that was */
	uint64_t calls, too_deep;
};

/* The nest's sink. */
struct spot {
	struct hk_calls *calls;
	struct hk_tracks_thread *thread;
};

static int open_call(void *context, const struct hk_slice *slice)
{
	(void)context;
	(void)slice;
	return 0;
}

static int close_call(void *context, const struct hk_slice *slice)
{
	struct spot *spot = context;

	spot->calls->calls++;
	return hk_call_table_add(spot->calls->table, &spot->thread->shown, slice,
				 spot->thread->nest.depth);
}

static struct hk_nest_sink sink_at(struct spot *spot)
{
	return (struct hk_nest_sink){.open = open_call, .close = close_call, .context = spot};
}

/* ---- making one ---- */

static bool keep(void *context, const Hk__Process *process)
{
	const struct hk_calls_options *options = context;
	bool kept = !options->ranks;

	for (size_t i = 0; !kept && i < options->rank_count; i++) {
		kept = options->ranks[i] == hk_report_rank_of(process);
	}
	return kept;
}

static int begin(struct hk_calls *calls, const struct hk_calls_options *options)
{
	const Hk__Snapshot *snapshot = calls->job->snapshot;
	int rc = hk_tracks_new(snapshot, keep, (void *)options, &calls->tracks);

	if (rc == 0) {
		rc = hk_stream_new(snapshot, calls->job->directory, calls->tracks, calls->from_ns,
				   &calls->stream);
	}
	if (rc < 0) {
		return rc;
	}
	calls->table =
	    hk_call_table_new(options->columns, options->column_count, options->rows,
			      hk_tracks_count(calls->tracks), hk_stream_origin_ns(calls->stream));
	return calls->table ? hk_stream_gaps(calls->stream, NULL, NULL) : -ENOMEM;
}

int hk_calls_new(struct hk_job_snapshot *job, const struct hk_calls_options *options,
		 struct hk_calls **ret_calls)
{
	struct hk_calls *calls = calloc(1, sizeof(*calls));

	if (!calls) {
		return -ENOMEM;
	}
	calls->job = hk_job_snapshot_ref(job);
	calls->from_ns = options->from_ns;
	calls->to_ns = options->to_ns;
	hk_source_raise_file_limit();
	int rc = begin(calls, options);
	if (rc < 0) {
		hk_calls_free(calls);
		return rc;
	}
	*ret_calls = calls;
	return 0;
}

static void forget_threads(struct hk_tracks *tracks)
{
	for (size_t i = 0; i < hk_tracks_count(tracks); i++) {
		struct hk_process_track *track = hk_tracks_process(tracks, i);
		struct hk_tracks_thread *thread = NULL;

		while ((thread = hk_process_track_next_thread(track, thread))) {
			hk_call_table_forget(&thread->shown);
		}
	}
}

void hk_calls_free(struct hk_calls *calls)
{
	if (!calls) {
		return;
	}
	hk_stream_free(calls->stream);
	if (calls->tracks) {
		forget_threads(calls->tracks);
	}
	hk_call_table_free(calls->table);
	hk_tracks_free(calls->tracks);
	hk_job_snapshot_unref(calls->job);
	free(calls);
}

struct hk_schema *hk_calls_schema(const struct hk_calls *calls)
{
	return hk_call_table_schema(calls->table);
}

/* ---- reading ---- */

struct hk_calls_counts hk_calls_counts(const struct hk_calls *calls)
{
	struct hk_stream_stats stats = hk_stream_stats(calls->stream);

	return (struct hk_calls_counts){
	    .calls = calls->calls,
	    .lost = stats.lost,
	    .shed = stats.shed,
	    .elsewhere = stats.elsewhere,
	    .damaged = stats.damaged,
	    .newer = stats.newer,
	    .too_deep = calls->too_deep,
	};
}

/* Returns how many calls of NEST are open at TIME_NS. Calls that have ended stay in it until the
 * next one of their thread begins. */
static uint32_t depth_at(const struct hk_nest *nest, uint64_t time_ns)
{
	uint32_t depth = nest->depth;

	while (depth > 0 && nest->slices[depth - 1].end_ns <= time_ns) {
		depth--;
	}
	return depth;
}

static int add_instant(struct hk_calls *calls, struct hk_tracks_thread *thread,
		       struct hk_slice *slice)
{
	calls->calls++;
	slice->end_ns = slice->start_ns;
	return hk_call_table_add(calls->table, &thread->shown, slice,
				 depth_at(&thread->nest, slice->start_ns));
}

static int add_call(struct hk_calls *calls, const struct hk_stream_record *record)
{
	struct spot spot = {.calls = calls};
	struct hk_nest_sink sink = sink_at(&spot);
	struct hk_slice slice;

	if (!hk_source_is_call(record->record->kind) || record->end_ns < calls->from_ns) {
		return 0;
	}
	int rc = hk_stream_call(calls->stream, record, &spot.thread, &slice);
	if (rc < 0) {
		return rc;
	}
	if (hk_source_is_instant(slice.site)) {
		return add_instant(calls, spot.thread, &slice);
	}
	rc = hk_nest_add(&spot.thread->nest, &slice, &sink);
	calls->too_deep += rc == -E2BIG;
	return rc == -E2BIG ? 0 : rc;
}

static int read_calls(struct hk_calls *calls)
{
	struct hk_stream_record record;
	int rc = 0;

	for (unsigned i = 0; i < RECORDS_AT_ONCE && !hk_call_table_is_full(calls->table); i++) {
		rc = hk_stream_next(calls->stream, &record);
		if (rc > 0 && record.start_ns <= calls->to_ns) {
			rc = add_call(calls, &record);
		} else if (rc >= 0) {
			calls->state = CLOSING;
			return 0;
		}
		if (rc < 0) {
			return rc;
		}
	}
	return 0;
}

/* Closes the calls that are open on the next thread. */
static int close_calls(struct hk_calls *calls)
{
	struct spot spot = {.calls = calls};
	struct hk_nest_sink sink = sink_at(&spot);

	while (calls->process < hk_tracks_count(calls->tracks)) {
		struct hk_process_track *track = hk_tracks_process(calls->tracks, calls->process);

		calls->thread = hk_process_track_next_thread(track, calls->thread);
		if (calls->thread) {
			spot.thread = calls->thread;
			return hk_nest_finish(&spot.thread->nest, &sink);
		}
		calls->process++;
	}
	calls->state = ENDED;
	return 0;
}

/* Notes damage that was found, for all readers of the job. */
static void note_damage(struct hk_calls *calls)
{
	struct hk_calls_counts counts = hk_calls_counts(calls);

	if (counts.damaged || counts.newer || counts.too_deep) {
		__atomic_store_n(&calls->job->damaged, true, __ATOMIC_RELAXED);
	}
}

int hk_calls_next(struct hk_calls *calls, struct hk_table **ret_table)
{
	int rc = calls->state == READING ? read_calls(calls) : 0;

	while (rc == 0 && calls->state == CLOSING && !hk_call_table_is_full(calls->table)) {
		rc = close_calls(calls);
	}
	if (rc < 0) {
		return rc;
	}
	if (!hk_call_table_is_full(calls->table) && calls->state != ENDED) {
		return -EAGAIN;
	}
	note_damage(calls);
	if (hk_call_table_rows(calls->table) == 0) {
		return 0;
	}
	rc = hk_call_table_take(calls->table, ret_table);
	return rc < 0 ? rc : 1;
}
