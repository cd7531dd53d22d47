/* Chrome's trace event JSON, one event per line: complete events ("X") in microseconds since the
 * job's start with three decimals, `pid` the rank of a main process, metadata that names and sorts
 * the rest. Written as calls end, so the file is not in order of time; readers sort. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/export/activity.h"
#include "cli/export/callers.h"
#include "cli/export/chain.h"
#include "cli/export/curve.h"
#include "cli/export/exporter.h"
#include "hooks/names.h"
#include "text/json_stream.h"
#include "text/name.h"
#include "timeline/details_json.h"

/* `pid` of other processes: above any rank, and below the limits of doubles and ints. */
#define OTHER_PIDS 1000000u

/* `tid` of a device's streams, above those of threads; streams of one process and device. */
#define STREAM_TIDS 1000000000u
#define STREAMS 100000u

struct hk_exporter {
	struct hk_json json;
	uint64_t start_ns;
	struct hk_stream *streams;
	struct hk_chains chains; /* of collective calls */
	struct hk_callers *callers;
	const struct hk_export_process *const *processes;
	size_t process_count;
};

/* The name of a frame among those of all processes. */
#define FRAME_ID_BYTES 48

static void write_link(void *context, const char *kind, uint64_t id,
		       const struct hk_chain_part *part);

static struct hk_exporter *chrome_create(const struct hk_export_target *target)
{
	struct hk_exporter *chrome = calloc(1, sizeof(*chrome));

	if (chrome) {
		chrome->json.output = target->output;
		chrome->chains = (struct hk_chains){.write = write_link, .context = chrome};
	}
	return chrome;
}

static int check(const struct hk_exporter *chrome)
{
	if (!ferror_unlocked(chrome->json.output)) {
		return 0;
	}
	return errno > 0 ? -errno : -EIO; /* errno as the failed write left it */
}

static uint64_t shown_pid(const struct hk_export_process *process)
{
	return process->is_main ? (uint64_t)process->rank : OTHER_PIDS + process->index;
}

static void event_open(struct hk_json *json, const char *kind, const char *name)
{
	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	hk_json_string(json, "ph", kind);
	hk_json_string(json, "name", name);
}

static void metadata_text(struct hk_json *json, const char *name, uint64_t pid, int64_t tid,
			  const char *key, const char *text)
{
	event_open(json, "M", name);
	hk_json_uint(json, "pid", pid);
	if (tid >= 0) {
		hk_json_int(json, "tid", tid);
	}
	hk_json_open(json, "args", '{');
	hk_json_string(json, key, text);
	hk_json_close(json, '}');
	hk_json_close(json, '}');
}

static void metadata_index(struct hk_json *json, const char *name, uint64_t pid, int64_t tid,
			   uint64_t index)
{
	event_open(json, "M", name);
	hk_json_uint(json, "pid", pid);
	if (tid >= 0) {
		hk_json_int(json, "tid", tid);
	}
	hk_json_open(json, "args", '{');
	hk_json_uint(json, "sort_index", index);
	hk_json_close(json, '}');
	hk_json_close(json, '}');
}

/* Writes the clock error of each process; unknown ones have no entry. */
static void write_clocks(struct hk_json *json, const struct hk_export_job *job)
{
	hk_json_open(json, "clocks", '[');
	for (size_t i = 0; i < job->process_count; i++) {
		if (job->processes[i]->clock_known) {
			hk_json_open(json, NULL, '{');
			hk_json_uint(json, "pid", shown_pid(job->processes[i]));
			hk_json_uint(json, "error_ns", job->processes[i]->clock_error_ns);
			hk_json_close(json, '}');
		}
	}
	hk_json_close(json, ']');
}

static int write_point(void *context, const struct hk_curve_point *point)
{
	struct hk_exporter *chrome = context;
	struct hk_json *json = &chrome->json;

	event_open(json, "C", point->name);
	hk_json_string(json, "cat", "hooktrace");
	hk_json_uint(json, "pid", shown_pid(point->process));
	hk_json_uint(json, "tid", point->process->show_pid);
	hk_json_microseconds(json, "ts", (int64_t)(point->time_ns - chrome->start_ns));
	hk_json_open(json, "args", '{');
	hk_json_uint(json, "bytes", point->bytes);
	hk_json_close(json, '}');
	hk_json_close(json, '}');
	return check(chrome);
}

static int chrome_begin(struct hk_exporter *chrome, const struct hk_export_job *job)
{
	struct hk_json *json = &chrome->json;

	chrome->start_ns = job->start_ns;
	chrome->processes = job->processes;
	chrome->process_count = job->process_count;
	chrome->callers = hk_callers_new(job);
	if (!chrome->callers) {
		return -ENOMEM;
	}
	hk_json_open(json, NULL, '{');
	hk_json_string(json, "displayTimeUnit", "ns");
	hk_json_open(json, "otherData", '{');
	hk_json_string(json, "job", job->id);
	hk_json_string(json, "command", job->command);
	/* Seconds and nanoseconds separately: together they do not fit the double that readers
	 * parse a number into. */
	hk_json_open(json, "start_unix", '[');
	hk_json_uint(json, NULL, job->start_ns / 1000000000u);
	hk_json_uint(json, NULL, job->start_ns % 1000000000u);
	hk_json_close(json, ']');
	if (job->many_nodes) {
		write_clocks(json, job);
	}
	hk_json_close(json, '}');
	hk_json_open(json, "traceEvents", '[');
	for (size_t i = 0; i < job->process_count; i++) {
		const struct hk_export_process *process = job->processes[i];

		metadata_text(json, "process_name", shown_pid(process), -1, "name", process->title);
		metadata_text(json, "process_labels", shown_pid(process), -1, "labels",
			      process->command);
		metadata_index(json, "process_sort_index", shown_pid(process), -1, process->index);
	}
	int rc = hk_curves_each(job, write_point, chrome);

	return rc < 0 ? rc : check(chrome);
}

static int chrome_thread(struct hk_exporter *chrome, struct hk_export_thread *thread)
{
	uint64_t pid = shown_pid(thread->process);

	metadata_text(&chrome->json, "thread_name", pid, thread->show_tid, "name", thread->name);
	metadata_index(&chrome->json, "thread_sort_index", pid, thread->show_tid, thread->uid);
	return check(chrome);
}

/* Writes the arguments in an object of their own, because an argument may have the name of a
 * value. */
static void write_arguments(struct hk_json *json, const struct hk_slice *slice)
{
	struct hk_arguments arguments;

	if (!hk_slice_arguments(slice, &arguments)) {
		return;
	}
	hk_details_json_arguments(json, "arguments", &arguments);
	if (!hk_slice_has(slice, HK_KEY_RESULT)) {
		hk_details_json_argument(json, "result", &arguments.result);
	}
}

static void write_details(struct hk_json *json, const struct hk_slice *slice)
{
	hk_json_open(json, "args", '{');
	hk_json_string(json, "library", slice->site->library);
	for (unsigned int i = 0; i < slice->word_count; i++) {
		hk_details_json_value(json, slice->site, slice->site->keys[i], slice->words[i]);
	}
	write_arguments(json, slice);
	if (slice->unwound) {
		hk_json_uint(json, "unwound", 1);
	}
	if (slice->failed) {
		hk_json_uint(json, "failed", 1);
	}
	hk_json_close(json, '}');
}

/* Writes an activity to the row of its stream, below those of the process's threads. */
static int write_activity(struct hk_exporter *chrome, const struct hk_export_thread *thread,
			  const struct hk_slice *slice, const struct hk_device_activity *activity)
{
	struct hk_json *json = &chrome->json;
	uint64_t pid = shown_pid(thread->process);
	char name[HK_STREAM_NAME_BYTES];
	struct hk_stream *stream;
	bool is_new;
	int rc = hk_streams_find(&chrome->streams, thread->process->show_pid, activity, &stream,
				 &is_new);

	if (rc < 0) {
		return rc;
	}
	int64_t tid =
	    STREAM_TIDS + (int64_t)(uint32_t)activity->device * STREAMS + stream->number % STREAMS;
	if (is_new) {
		hk_stream_name(stream, name);
		metadata_text(json, "thread_name", pid, tid, "name", name);
		metadata_index(json, "thread_sort_index", pid, tid, (uint64_t)tid);
	}
	event_open(json, "X", slice->site->function);
	hk_json_string(json, "cat", slice->site->domain);
	hk_json_uint(json, "pid", pid);
	hk_json_int(json, "tid", tid);
	hk_json_microseconds(json, "ts", (int64_t)(activity->start_ns - chrome->start_ns));
	hk_json_microseconds(json, "dur", (int64_t)(activity->end_ns - activity->start_ns));
	write_details(json, slice);
	hk_json_close(json, '}');
	return check(chrome);
}

static int chrome_instant(struct hk_exporter *chrome, struct hk_export_thread *thread,
			  const struct hk_slice *slice)
{
	struct hk_json *json = &chrome->json;
	bool counter = slice->site->meaning == HK_MEANING_COUNTER;
	struct hk_device_activity activity;

	if (hk_activity_read(slice, &activity) && activity.start_ns >= chrome->start_ns) {
		return write_activity(chrome, thread, slice, &activity);
	}
	event_open(json, counter ? "C" : "i", slice->site->function);
	hk_json_string(json, "cat", slice->site->domain);
	hk_json_uint(json, "pid", shown_pid(thread->process));
	hk_json_uint(json, "tid", thread->show_tid);
	hk_json_microseconds(json, "ts", (int64_t)(slice->start_ns - chrome->start_ns));
	if (counter) {
		/* Every member is a series of its own. */
		hk_json_open(json, "args", '{');
		hk_json_double(json, "value", slice->word_count ? slice->words[0] : 0);
		hk_json_close(json, '}');
	} else {
		hk_json_string(json, "s", "t"); /* on its thread */
		write_details(json, slice);
	}
	hk_json_close(json, '}');
	return check(chrome);
}

/* Writes part KIND of an arrow at TIME, which lies within an already written call of THREAD. */
static void write_flow(struct hk_exporter *chrome, const struct hk_export_thread *thread,
		       const char *kind, uint64_t id, uint64_t time_ns)
{
	struct hk_json *json = &chrome->json;

	event_open(json, kind, id % 2 ? "collective" : "message");
	hk_json_string(json, "cat", "hooktrace");
	hk_json_hex(json, "id", id);
	hk_json_uint(json, "pid", shown_pid(thread->process));
	hk_json_uint(json, "tid", thread->show_tid);
	hk_json_microseconds(json, "ts", (int64_t)(time_ns - chrome->start_ns));
	if (*kind != 's') {
		hk_json_string(json, "bp", "e"); /* ends at the call around it */
	}
	hk_json_close(json, '}');
}

static void write_link(void *context, const char *kind, uint64_t id,
		       const struct hk_chain_part *part)
{
	write_flow(context, part->thread, kind, id, part->time_ns);
}

static void write_flows(struct hk_exporter *chrome, const struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	/* The last moment within the call. */
	uint64_t last_ns = slice->end_ns > slice->start_ns ? slice->end_ns - 1 : slice->end_ns;

	if (slice->flow_out) {
		write_flow(chrome, thread, "s", slice->flow_out, slice->start_ns);
	}
	if (slice->flow_joint) {
		const struct hk_chain_part part = {thread, slice->start_ns};
		hk_chains_add(&chrome->chains, slice->flow_joint, slice->flow_first, &part);
	}
	for (uint32_t i = 0; i < slice->arrival_count; i++) {
		const struct hk_export_arrival *arrival = &slice->arrivals[i];

		write_flow(chrome, thread, "f", arrival->id,
			   arrival->sent_ns > last_ns ? slice->end_ns : last_ns);
	}
}

static int chrome_open(struct hk_exporter *chrome, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	const struct hk_chain_part part = {thread, slice->start_ns};

	return slice->flow_joint && slice->flow_first
		   ? hk_chains_begin(&chrome->chains, slice->flow_joint, &part)
		   : 0;
}

/* INDEX counts the functions at the frame, from the innermost one. */
static void frame_id(const struct hk_export_process *process, uint32_t number, uint32_t index,
		     char id[FRAME_ID_BYTES])
{
	int length =
	    snprintf(id, FRAME_ID_BYTES, "%" PRIu64 ".%" PRIu32, shown_pid(process), number);

	if (index > 0) {
		snprintf(id + length, FRAME_ID_BYTES - (size_t)length, ".%" PRIu32, index);
	}
}

/* Names the caller's stack of SLICE; its frames follow at the end of the file. */
static int write_stack(struct hk_exporter *chrome, const struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	const struct hk_export_process *process = thread->process;
	struct hk_stacks_frame frame;
	char id[FRAME_ID_BYTES];

	if (!slice->stack || !process->stacks ||
	    !hk_stacks_frame(process->stacks, slice->stack, &frame)) {
		return 0;
	}
	frame_id(process, slice->stack, 0, id);
	hk_json_string(&chrome->json, "sf", id);
	return hk_callers_get_stack(chrome->callers, process, slice->stack);
}

static int write_frame(struct hk_exporter *chrome, const struct hk_export_process *process,
		       uint32_t number)
{
	const struct hk_callers_frame *known = hk_callers_get(chrome->callers, process, number);
	struct hk_json *json = &chrome->json;
	struct hk_stacks_frame frame;
	char id[FRAME_ID_BYTES];

	if (!known || !hk_stacks_frame(process->stacks, number, &frame)) {
		return known ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < known->count; i++) {
		bool outermost = i + 1 == known->count;
		frame_id(process, number, i, id);
		hk_json_newline(json);
		hk_json_open(json, id, '{');
		const struct hk_caller *function = &known->functions[i];
		hk_json_string(json, "name", function->text);
		hk_json_string(
		    json, "category",
		    hk_name_base(*function->library ? function->library : function->file));
		if (!outermost || frame.caller) {
			frame_id(process, outermost ? frame.caller : number, outermost ? 0 : i + 1,
				 id);
			hk_json_string(json, "parent", id);
		}
		hk_json_close(json, '}');
	}
	return 0;
}

/* Writes the frames that calls have named, if there are any. */
static int write_frames(struct hk_exporter *chrome)
{
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < chrome->process_count; i++) {
		const struct hk_export_process *process = chrome->processes[i];
		uint32_t number = 0;

		while (rc == 0 &&
		       (number = hk_callers_next(chrome->callers, process, number + 1))) {
			if (!any) {
				hk_json_open(&chrome->json, "stackFrames", '{');
			}
			any = true;
			rc = write_frame(chrome, process, number);
		}
	}
	if (any) {
		hk_json_close(&chrome->json, '}');
	}
	return rc;
}

static int chrome_close(struct hk_exporter *chrome, struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	struct hk_json *json = &chrome->json;

	event_open(json, "X", slice->site->function);
	hk_json_string(json, "cat", slice->site->domain);
	hk_json_uint(json, "pid", shown_pid(thread->process));
	hk_json_uint(json, "tid", thread->show_tid);
	hk_json_microseconds(json, "ts", (int64_t)(slice->start_ns - chrome->start_ns));
	hk_json_microseconds(json, "dur", (int64_t)(slice->end_ns - slice->start_ns));
	write_details(json, slice);
	int rc = write_stack(chrome, thread, slice);
	hk_json_close(json, '}');
	write_flows(chrome, thread, slice);
	return rc < 0 ? rc : check(chrome);
}

/* Writes the ends of the last arrows; the format has no place for the statistics. */
static int chrome_flows(struct hk_exporter *chrome, const struct hk_export_flows *flows)
{
	(void)flows;
	hk_chains_finish(&chrome->chains);
	return check(chrome);
}

static int chrome_mark(struct hk_exporter *chrome, const struct hk_export_process *process,
		       uint64_t time_ns, const struct hk_export_gap *gap)
{
	struct hk_json *json = &chrome->json;
	char name[32];

	snprintf(name, sizeof(name), "%s records", gap->why);
	event_open(json, "i", name);
	hk_json_string(json, "cat", "hooktrace");
	hk_json_string(json, "s", "p"); /* across the whole process */
	hk_json_uint(json, "pid", shown_pid(process));
	hk_json_uint(json, "tid", process->show_pid);
	hk_json_microseconds(json, "ts", (int64_t)(time_ns - chrome->start_ns));
	hk_json_open(json, "args", '{');
	hk_json_uint(json, gap->why, gap->records);
	hk_json_close(json, '}');
	hk_json_close(json, '}');
	return check(chrome);
}

static int chrome_end(struct hk_exporter *chrome)
{
	putc_unlocked('\n', chrome->json.output);
	hk_json_close(&chrome->json, ']');
	int rc = write_frames(chrome);
	hk_json_close(&chrome->json, '}');
	putc_unlocked('\n', chrome->json.output);
	if (rc < 0) {
		return rc;
	}
	return fflush(chrome->json.output) ? -errno : check(chrome);
}

static void chrome_free(struct hk_exporter *chrome)
{
	if (chrome) {
		hk_streams_free(chrome->streams);
		hk_chains_free(&chrome->chains);
		hk_callers_free(chrome->callers);
		free(chrome);
	}
}

const struct hk_exporter_ops hk_chrome_exporter = {
    .format = "chrome",
    .suffix = "json",
    .create = chrome_create,
    .begin = chrome_begin,
    .thread = chrome_thread,
    .open = chrome_open,
    .close = chrome_close,
    .instant = chrome_instant,
    .mark = chrome_mark,
    .flows = chrome_flows,
    .end = chrome_end,
    .free = chrome_free,
};
