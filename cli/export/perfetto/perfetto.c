/* Perfetto's protobuf trace. Packets, tracks, interned names and events have modules of their
 * own. */
#include <errno.h>
#include <stdlib.h>

#include "cli/export/curve.h"
#include "cli/export/exporter.h"
#include "cli/export/perfetto/perfetto_event.h"
#include "cli/export/perfetto/perfetto_intern.h"
#include "cli/export/perfetto/perfetto_packet.h"
#include "cli/export/perfetto/perfetto_stream.h"
#include "cli/export/perfetto/perfetto_track.h"

struct hk_exporter {
	struct hk_perfetto_writer writer;
	struct hk_perfetto_streams streams;
};

static struct hk_exporter *perfetto_create(const struct hk_export_target *target)
{
	struct hk_exporter *perfetto = calloc(1, sizeof(*perfetto));

	if (perfetto) {
		perfetto->writer.output = target->output;
	}
	return perfetto;
}

static void perfetto_free(struct hk_exporter *perfetto)
{
	if (perfetto) {
		hk_perfetto_streams_fini(&perfetto->streams);
		hk_callers_free(perfetto->writer.callers);
		hk_perfetto_writer_fini(&perfetto->writer);
		free(perfetto);
	}
}

static int write_point(void *context, const struct hk_curve_point *point)
{
	struct hk_perfetto_writer *writer = context;
	int rc = point->first ? hk_perfetto_write_memory_track(writer, point->process, point->name,
							       point->width_ns)
			      : 0;

	return rc < 0 ? rc : hk_perfetto_write_memory(writer, point);
}

static int perfetto_begin(struct hk_exporter *perfetto, const struct hk_export_job *job)
{
	struct hk_perfetto_writer *writer = &perfetto->writer;
	int rc;

	writer->start_ns = job->start_ns;
	writer->callers = hk_callers_new(job);
	rc = writer->callers ? hk_perfetto_write_clocks(writer) : -ENOMEM;
	if (rc < 0) {
		return rc;
	}
	rc = hk_perfetto_write_root(writer);
	for (size_t i = 0; rc == 0 && i < job->process_count; i++) {
		rc = hk_perfetto_write_process(writer, job->processes[i], job->many_nodes);
	}
	return rc < 0 ? rc : hk_curves_each(job, write_point, writer);
}

static int perfetto_thread(struct hk_exporter *perfetto, struct hk_export_thread *thread)
{
	thread->private = hk_perfetto_sequence_new();
	return thread->private ? hk_perfetto_write_thread(&perfetto->writer, thread) : -ENOMEM;
}

static int perfetto_open(struct hk_exporter *perfetto, struct hk_export_thread *thread,
			 const struct hk_slice *slice)
{
	int rc = hk_perfetto_write_call(&perfetto->writer, thread, thread->private, slice,
					HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, 0);

	return rc < 0 ? rc
		      : hk_perfetto_write_enqueue(&perfetto->writer, &perfetto->streams, thread,
						  thread->private, slice);
}

static int perfetto_close(struct hk_exporter *perfetto, struct hk_export_thread *thread,
			  const struct hk_slice *slice)
{
	return hk_perfetto_write_end(&perfetto->writer, thread, slice, 0);
}

static int perfetto_instant(struct hk_exporter *perfetto, struct hk_export_thread *thread,
			    const struct hk_slice *slice)
{
	int rc;

	if (hk_meaning_is_activity(slice->site->meaning)) {
		return hk_perfetto_write_activity(&perfetto->writer, &perfetto->streams, thread,
						  thread->private, slice);
	}
	if (slice->site->meaning != HK_MEANING_COUNTER) {
		return hk_perfetto_write_call(&perfetto->writer, thread, thread->private, slice,
					      HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT, 0);
	}
	if (!slice->word_count) {
		return 0;
	}
	rc = hk_perfetto_intern_counter(thread->private, slice->site);
	if (rc > 0) {
		rc = hk_perfetto_write_counter_track(&perfetto->writer, thread->process,
						     slice->site->function);
	}
	return rc < 0 ? rc : hk_perfetto_write_counter(&perfetto->writer, thread, slice);
}

static int perfetto_mark(struct hk_exporter *perfetto, const struct hk_export_process *process,
			 uint64_t time_ns, const struct hk_export_gap *gap)
{
	return hk_perfetto_write_gap(&perfetto->writer, process, time_ns, gap);
}

static void perfetto_forget(struct hk_exporter *perfetto, struct hk_export_thread *thread)
{
	(void)perfetto;
	hk_perfetto_sequence_free(thread->private);
	thread->private = NULL;
}

static int perfetto_flows(struct hk_exporter *perfetto, const struct hk_export_flows *flows)
{
	return flows->sends + flows->receives + flows->joined + flows->apart
		   ? hk_perfetto_write_flows(&perfetto->writer, flows)
		   : 0;
}

static int perfetto_end(struct hk_exporter *perfetto)
{
	return fflush(perfetto->writer.output) ? -errno : 0;
}

const struct hk_exporter_ops hk_perfetto_exporter = {
    .format = "perfetto",
    .suffix = "pftrace",
    .binary = true,
    .create = perfetto_create,
    .begin = perfetto_begin,
    .thread = perfetto_thread,
    .open = perfetto_open,
    .close = perfetto_close,
    .instant = perfetto_instant,
    .mark = perfetto_mark,
    .flows = perfetto_flows,
    .forget = perfetto_forget,
    .end = perfetto_end,
    .free = perfetto_free,
};
