#include "cli/steps/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/steps/changes.h"
#include "cli/timeline/timeline.h"
#include "hooks/hook.h"
#include "report/model/domains.h"
#include "report/wait/pattern.h"
#include "text/step_name.h"

#define NO_STEP (~(uint64_t)0) /* agent/hooktrace.h, HK_NO_STEP */

/* A rank while its calls pass by. */
struct passing {
	double waited_ns;
	uint64_t waits_until_ns;    /* end of the last waiting call that is in no other one */
	uint64_t first_ns, last_ns; /* of its collectives */
	bool in_range;		    /* a range is a step until then */
	uint64_t range_end_ns;
	struct hk_marker range;
};

struct hk_exporter {
	struct hk_steps *steps;
	struct hk_markers markers;
	struct passing *passing;
	size_t *place; /* of each process: its rank's index, or SIZE_MAX */
	bool numbered; /* the first step's number is known */
};

/* ---- what a call is ---- */

bool hk_steps_waits(const struct hk_export_site *site)
{
	switch (site->meaning) {
	case HK_MEANING_SEND:
	case HK_MEANING_RECV:
	case HK_MEANING_COLLECTIVE:
		return true;
	case HK_MEANING_WAIT:
		return hk_wait_is_domain(site->domain) || !hk_domain_is_idle(site->domain);
	default:
		return hk_wait_is_domain(site->domain);
	}
}

static bool word_of(const struct hk_slice *slice, uint8_t key, uint64_t *ret_word)
{
	for (unsigned i = 0; i < slice->word_count; i++) {
		if (slice->site->keys[i] == key) {
			*ret_word = slice->words[i];
			return true;
		}
	}
	return false;
}

/* Returns the index of the rank whose first thread THREAD is, or SIZE_MAX. */
static size_t place_of(const struct hk_exporter *exporter, const struct hk_export_thread *thread)
{
	return thread->is_main ? exporter->place[thread->process->index] : SIZE_MAX;
}

static struct hk_marker_event event_at(const struct hk_exporter *exporter, size_t rank,
				       uint64_t time_ns)
{
	return (struct hk_marker_event){rank, time_ns, exporter->passing[rank].waited_ns};
}

/* ---- the timeline ---- */

static struct hk_exporter *steps_create(const struct hk_export_target *target)
{
	struct hk_exporter *exporter = calloc(1, sizeof(*exporter));

	if (exporter) {
		exporter->steps = target->context;
	}
	return exporter;
}

static int steps_begin(struct hk_exporter *exporter, const struct hk_export_job *job)
{
	struct hk_steps *steps = exporter->steps;

	exporter->place = calloc(job->process_count + 1, sizeof(*exporter->place));
	exporter->passing = calloc(job->process_count + 1, sizeof(*exporter->passing));
	steps->ranks = calloc(job->process_count + 1, sizeof(*steps->ranks));
	if (!exporter->place || !exporter->passing || !steps->ranks) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < job->process_count; i++) {
		const struct hk_export_process *process = job->processes[i];
		exporter->place[process->index] = SIZE_MAX;
		if (process->rank < 0 || strcmp(process->role, "main") != 0) {
			continue;
		}
		/* Processes come by rank: one that another program follows by exec is the same. */
		if (steps->rank_count == 0 ||
		    steps->ranks[steps->rank_count - 1].rank != process->rank) {
			steps->ranks[steps->rank_count++].rank = process->rank;
		}
		exporter->place[process->index] = steps->rank_count - 1;
		steps->clock_error_ns = process->clock_error_ns > steps->clock_error_ns
					    ? process->clock_error_ns
					    : steps->clock_error_ns;
	}
	exporter->markers.ranks = steps->rank_count;
	steps->origin_ns = job->origin_ns;
	return 0;
}

/* Ends the range of RANK that is a step, if it ended by TIME_NS. */
static int range_end(struct hk_exporter *exporter, size_t rank, uint64_t time_ns)
{
	struct passing *passing = &exporter->passing[rank];

	if (!passing->in_range || passing->range_end_ns > time_ns) {
		return 0;
	}
	const struct hk_marker_event event = event_at(exporter, rank, passing->range_end_ns);
	passing->in_range = false;
	return hk_markers_end(&exporter->markers, &passing->range, &event);
}

static int range_begin(struct hk_exporter *exporter, size_t rank, const struct hk_slice *slice)
{
	struct passing *passing = &exporter->passing[rank];
	const struct hk_marker_event event = event_at(exporter, rank, slice->start_ns);

	/* Names of ranges may have numbers in them. All are the steps of one marker. */
	passing->range = (struct hk_marker){.kind = HK_MARKER_RANGE};
	passing->range.name = hk_report_strings_get(&exporter->steps->strings, "step");
	passing->range_end_ns = slice->end_ns;
	passing->in_range = true;
	return passing->range.name ? hk_markers_begin(&exporter->markers, &passing->range, &event)
				   : -ENOMEM;
}

/* Ends a step at the end of the collective SLICE, and begins the next: for its bytes, and for any.
 */
static int collective_end(struct hk_exporter *exporter, size_t rank, const struct hk_slice *slice)
{
	const struct hk_marker_event event = event_at(exporter, rank, slice->end_ns);
	struct hk_marker marker = {.kind = HK_MARKER_COLLECTIVE, .any_bytes = true};
	struct passing *passing = &exporter->passing[rank];

	passing->first_ns = passing->first_ns > 0 ? passing->first_ns : slice->start_ns;
	passing->last_ns = slice->end_ns;
	if (!word_of(slice, HK_KEY_COMM, &marker.comm) || marker.comm == 0) {
		return 0;
	}
	marker.name = hk_report_strings_get(&exporter->steps->strings, slice->site->function);
	int rc = marker.name ? hk_markers_begin(&exporter->markers, &marker, &event) : -ENOMEM;
	if (rc == 0 && word_of(slice, HK_KEY_BYTES, &marker.bytes)) {
		marker.any_bytes = false;
		rc = hk_markers_begin(&exporter->markers, &marker, &event);
	}
	return rc;
}

static int steps_open(struct hk_exporter *exporter, struct hk_export_thread *thread,
		      const struct hk_slice *slice)
{
	size_t rank = place_of(exporter, thread);

	if (rank == SIZE_MAX) {
		return 0;
	}
	struct passing *passing = &exporter->passing[rank];
	int rc = range_end(exporter, rank, slice->start_ns);
	if (rc < 0) {
		return rc;
	}
	if (slice->site->meaning == HK_MEANING_RANGE) {
		return hk_is_step_name(slice->site->function) && !passing->in_range
			   ? range_begin(exporter, rank, slice)
			   : 0;
	}
	if (slice->start_ns < passing->waits_until_ns || !hk_steps_waits(slice->site)) {
		return 0;
	}
	passing->waits_until_ns = slice->end_ns;
	passing->waited_ns += (double)(slice->end_ns - slice->start_ns);
	return slice->site->meaning == HK_MEANING_COLLECTIVE && !slice->failed
		   ? collective_end(exporter, rank, slice)
		   : 0;
}

static int steps_close(struct hk_exporter *exporter, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	(void)exporter;
	(void)thread;
	(void)slice;
	return 0;
}

static int steps_instant(struct hk_exporter *exporter, struct hk_export_thread *thread,
			 const struct hk_slice *slice)
{
	const struct hk_marker marker = {.kind = HK_MARKER_STEP};
	size_t rank = place_of(exporter, thread);
	uint64_t number;

	if (rank == SIZE_MAX || slice->site->meaning != HK_MEANING_MARK ||
	    !word_of(slice, HK_KEY_STEP, &number)) {
		return 0;
	}
	const struct hk_marker_event event = event_at(exporter, rank, slice->start_ns);
	if (number == NO_STEP) {
		return hk_markers_end(&exporter->markers, &marker, &event);
	}
	exporter->steps->first = exporter->numbered ? exporter->steps->first : number;
	exporter->numbered = true;
	return hk_markers_begin(&exporter->markers, &marker, &event);
}

static int steps_mark(struct hk_exporter *exporter, const struct hk_export_process *process,
		      uint64_t time_ns, const struct hk_export_gap *gap)
{
	struct hk_steps *steps = exporter->steps;

	(void)gap;
	if (exporter->place[process->index] == SIZE_MAX) {
		return 0;
	}
	if (steps->gap_count < HK_STEP_GAPS) {
		steps->gaps[steps->gap_count] = time_ns;
	}
	steps->gap_count++;
	return 0;
}

/* ---- the result ---- */

/* Moves the steps of CANDIDATE to the result, and makes the bins of all ranks equally wide. */
static void take(struct hk_steps *steps, struct hk_candidate *candidate)
{
	uint32_t width = 1;

	steps->known = true;
	steps->marker = candidate->marker;
	steps->first = candidate->marker.kind == HK_MARKER_STEP ? steps->first : 0;
	for (size_t i = 0; i < steps->rank_count; i++) {
		steps->ranks[i].series = candidate->lanes[i].series;
		candidate->lanes[i].series = (struct hk_step_series){0};
		width = steps->ranks[i].series.width > width ? steps->ranks[i].series.width : width;
	}
	steps->count = SIZE_MAX;
	for (size_t i = 0; i < steps->rank_count; i++) {
		struct hk_step_series *series = &steps->ranks[i].series;
		hk_step_series_widen(series, width);
		size_t whole = (size_t)(series->steps / width);
		steps->count = whole < steps->count ? whole : steps->count;
	}
}

static int steps_end(struct hk_exporter *exporter)
{
	struct hk_steps *steps = exporter->steps;
	double *span_ns = calloc(steps->rank_count + 1, sizeof(*span_ns));
	int rc = span_ns ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < steps->rank_count; i++) {
		const struct passing *passing = &exporter->passing[i];
		span_ns[i] = (double)(passing->last_ns - passing->first_ns);
		rc = range_end(exporter, i, UINT64_MAX);
	}
	struct hk_candidate *candidate = rc == 0 && steps->rank_count > 0
					     ? hk_markers_choose(&exporter->markers, span_ns)
					     : NULL;
	if (candidate) {
		take(steps, candidate);
	}
	free(span_ns);
	return rc;
}

static void steps_free(struct hk_exporter *exporter)
{
	if (exporter) {
		hk_markers_fini(&exporter->markers);
		free(exporter->passing);
		free(exporter->place);
		free(exporter);
	}
}

static const struct hk_exporter_ops ops = {
    .format = "steps",
    .suffix = "",
    .create = steps_create,
    .begin = steps_begin,
    .open = steps_open,
    .close = steps_close,
    .instant = steps_instant,
    .mark = steps_mark,
    .end = steps_end,
    .free = steps_free,
};

int hk_steps_read(const Hk__Snapshot *snapshot, const char *directory, struct hk_steps *ret_steps)
{
	const struct hk_timeline_options options = {
	    .from_ns = INT64_MIN, .to_ns = INT64_MAX, .ranks_own = true};
	const struct hk_export_target target = {.context = ret_steps};
	struct hk_timeline_result result;

	*ret_steps = (struct hk_steps){0};
	int rc = hk_timeline_export(snapshot, directory, &ops, &target, &options, &result);
	if (rc < 0) {
		return rc;
	}
	ret_steps->elsewhere = result.elsewhere > 0;
	if (result.damaged > 0) {
		ret_steps->damaged = true;
		ret_steps->known = false;
		return -EBADMSG;
	}
	return 0;
}

void hk_steps_fini(struct hk_steps *steps)
{
	for (size_t i = 0; steps->ranks && i < steps->rank_count; i++) {
		hk_step_series_fini(&steps->ranks[i].series);
	}
	free(steps->ranks);
	hk_report_strings_fini(&steps->strings);
	*steps = (struct hk_steps){0};
}

/* ---- numbers ---- */

uint32_t hk_steps_width(const struct hk_steps *steps)
{
	return steps->ranks[0].series.width;
}

uint64_t hk_steps_number(const struct hk_steps *steps, size_t index)
{
	return steps->first + (uint64_t)index * hk_steps_width(steps);
}

uint64_t hk_steps_begin(const struct hk_steps *steps, size_t rank, size_t index)
{
	const struct hk_step_bin *bins = steps->ranks[rank].series.bins;

	return index < steps->count
		   ? bins[index].begin_ns
		   : bins[index - 1].begin_ns + (uint64_t)bins[index - 1].duration_ns;
}

double hk_steps_duration(const struct hk_steps *steps, size_t rank, size_t index)
{
	const struct hk_step_bin *bin = &steps->ranks[rank].series.bins[index];

	return bin->duration_ns / bin->steps;
}

double hk_steps_own(const struct hk_steps *steps, size_t rank, size_t index)
{
	const struct hk_step_bin *bin = &steps->ranks[rank].series.bins[index];

	return bin->own_ns / bin->steps;
}

double hk_steps_median(const struct hk_steps *steps, size_t index, double *scratch)
{
	for (size_t i = 0; i < steps->rank_count; i++) {
		scratch[i] = hk_steps_duration(steps, i, index);
	}
	return hk_changes_median(scratch, steps->rank_count);
}
