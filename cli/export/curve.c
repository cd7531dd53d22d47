#include "cli/export/curve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/build/build.h"
#include "report/model/report.h"
#include "text/utf8.h"

#define NAME_BYTES 96

struct walk {
	const struct hk_export_job *job;
	int (*point)(void *context, const struct hk_curve_point *point);
	void *context;
};

/* Returns the process of SERIES. Of several that follow each other by exec, this is the last one
 * that had begun. */
static const struct hk_export_process *process_of(const struct hk_export_job *job,
						  const struct hk_report_memory_series *series)
{
	const struct hk_export_process *found = NULL;
	int64_t start_ns = series->start_ns + (int64_t)job->origin_ns;

	for (size_t i = 0; i < job->process_count; i++) {
		const struct hk_export_process *process = job->processes[i];

		if (process->pid == series->pid && process->rank == series->rank &&
		    strcmp(process->role, series->role) == 0 &&
		    (!found || (process->start_ns > found->start_ns &&
				(int64_t)process->start_ns <= start_ns))) {
			found = process;
		}
	}
	return found;
}

static void name_curve(const struct hk_report_memory_series *series, char name[NAME_BYTES])
{
	char raw[NAME_BYTES / 3];

	if (series->device >= 0) {
		snprintf(raw, sizeof(raw), "live %.12s %" PRId32, series->kind, series->device);
	} else {
		snprintf(raw, sizeof(raw), "live %.20s", series->kind);
	}
	hk_utf8_copy(raw, name, NAME_BYTES);
}

/* Returns the Unix time of SINCE_NS, clamped to the export. */
static uint64_t time_of(const struct hk_export_job *job, int64_t since_ns)
{
	__int128 ns = (__int128)job->origin_ns + since_ns;
	uint64_t from_ns = job->from_ns > job->start_ns ? job->from_ns : job->start_ns;

	return ns < (__int128)from_ns ? from_ns : ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

static int walk_series(const struct walk *walk, const struct hk_report_memory_series *series)
{
	char name[NAME_BYTES];
	struct hk_curve_point point = {.process = process_of(walk->job, series),
				       .name = name,
				       .first = true,
				       .width_ns = series->width_ns};
	int rc = 0;

	if (!point.process || series->count == 0) {
		return 0;
	}
	name_curve(series, name);
	for (size_t i = 0; i <= series->count && rc == 0; i++) {
		__int128 since_ns = series->start_ns + (__int128)series->width_ns * i;
		uint64_t bytes =
		    i < series->count ? series->max_bytes[i] : series->last_bytes[i - 1];
		uint64_t time_ns =
		    time_of(walk->job, since_ns > INT64_MAX ? INT64_MAX : (int64_t)since_ns);

		if (time_ns > walk->job->to_ns || since_ns > series->end_ns) {
			break;
		}
		if (!point.first && bytes == point.bytes) {
			continue; /* the curve continues */
		}
		point.time_ns = time_ns;
		point.bytes = bytes;
		rc = walk->point(walk->context, &point);
		point.first = false;
	}
	return rc;
}

int hk_curves_each(const struct hk_export_job *job,
		   int (*point)(void *context, const struct hk_curve_point *point), void *context)
{
	const struct walk walk = {job, point, context};
	struct hk_report *report = NULL;
	int rc = hk_report_new(job->snapshot, &report);

	for (size_t i = 0; rc == 0 && i < report->memory_series_count; i++) {
		rc = walk_series(&walk, &report->memory_series[i]);
	}
	hk_report_free(report);
	return rc;
}
