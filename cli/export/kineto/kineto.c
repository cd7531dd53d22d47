/* The JSON of Kineto, PyTorch's profiler library, for one rank, as read by Holistic Trace Analysis
 * (HTA) and similar tools. They find a rank's file by `"rank": N` on a line, with that space, so it
 * comes first. They assume one clock for all ranks, so all files of a job have one base time.
 * Readers use members of `args` with fixed names, which hooktrace's own members must avoid. Rows
 * are written as calls end, not in order of time; readers sort. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/activity.h"
#include "cli/export/callers.h"
#include "cli/export/exporter.h"
#include "cli/export/kineto/kineto_file.h"
#include "hooks/hook.h"
#include "timeline/details_json.h"

#define BEGIN "{\"schemaVersion\": 1, \"generator\": \"hooktrace\","

#define NO_STEP UINT64_MAX /* HK_NO_STEP of agent/hooktrace.h */

/* A thread's open calls, and its current step of the main loop. */
struct thread {
	const struct hk_export_thread *shown;
	struct thread *next;
	uint64_t *correlations; /* 0: none */
	uint32_t depth, capacity;
	uint32_t cuda_depth;
	bool in_step;
	uint64_t step, step_ns;
};

struct hk_exporter {
	struct hk_kineto_file file;
	int32_t rank;
	uint64_t from_ns, to_ns;
	uint64_t last_ns; /* the latest end so far */
	uint64_t correlation;
	struct hk_launches launches;
	struct hk_stream *streams;
	struct thread *threads;
	struct hk_callers *callers;
};

static struct hk_exporter *kineto_create(const struct hk_export_target *target)
{
	struct hk_exporter *kineto = calloc(1, sizeof(*kineto));

	if (kineto) {
		kineto->file.json.output = target->output;
		kineto->rank = target->rank;
		kineto->file.whole_us = target->whole_us;
	}
	return kineto;
}

/* ---- head ---- */

static void write_head(struct hk_exporter *kineto, const struct hk_export_job *job)
{
	struct hk_json *json = &kineto->file.json;
	const Hk__Job *of = job->snapshot->job;

	/* By hand, for the spaces that readers expect. */
	fprintf(json->output, BEGIN "\n\"distributedInfo\": {\"rank\": %" PRId32, kineto->rank);
	if (of && of->world_size > 0) {
		fprintf(json->output, ", \"world_size\": %" PRId32, of->world_size);
	}
	fprintf(json->output, "},\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %" PRIu64,
		kineto->file.base_ns);
	json->comma = true;
	hk_json_newline(json);
	hk_json_string(json, "job", job->id);
	hk_json_string(json, "command", job->command);
	for (size_t i = 0; job->many_nodes && i < job->process_count; i++) {
		if (job->processes[i]->clock_known) {
			hk_json_uint(json, "clockErrorNanoseconds",
				     job->processes[i]->clock_error_ns);
			break;
		}
	}
	hk_json_newline(json);
	hk_json_open(json, "traceEvents", '[');
}

static int kineto_begin(struct hk_exporter *kineto, const struct hk_export_job *job)
{
	kineto->file.base_ns = job->start_ns;
	kineto->last_ns = job->start_ns;
	kineto->from_ns = job->from_ns;
	kineto->to_ns = job->to_ns;
	kineto->callers = hk_callers_new(job);
	if (!kineto->callers) {
		return -ENOMEM;
	}
	write_head(kineto, job);
	for (size_t i = 0; i < job->process_count; i++) {
		const struct hk_export_process *process = job->processes[i];
		uint32_t pid = process->show_pid;

		hk_kineto_text(&kineto->file, "process_name", pid, 0, "name", process->title);
		hk_kineto_text(&kineto->file, "process_labels", pid, 0, "labels", process->command);
		hk_kineto_index(&kineto->file, "process_sort_index", pid, 0, process->index);
	}
	return hk_kineto_check(&kineto->file);
}

static int kineto_thread(struct hk_exporter *kineto, struct hk_export_thread *shown)
{
	uint32_t pid = shown->process->show_pid;
	struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread) {
		return -ENOMEM;
	}
	thread->shown = shown;
	thread->next = kineto->threads;
	kineto->threads = thread;
	shown->private = thread;
	hk_kineto_text(&kineto->file, "thread_name", pid, shown->show_tid, "name", shown->name);
	hk_kineto_index(&kineto->file, "thread_sort_index", pid, shown->show_tid, shown->uid);
	return hk_kineto_check(&kineto->file);
}

/* ---- calls of the host ---- */

static bool is_cuda(const struct hk_export_site *site)
{
	return strcmp(site->domain, "cuda") == 0;
}

static const char *category_of(const struct hk_export_site *site)
{
	const char *name = site->function;

	if (site->meaning == HK_MEANING_RANGE) {
		return "user_annotation";
	}
	if (!is_cuda(site)) {
		return "cpu_op";
	}
	name += strspn(name, "_");
	return strncmp(name, "cuda", 4) == 0 ? "cuda_runtime" : "cuda_driver";
}

static uint64_t word_of(const struct hk_slice *slice, uint8_t key)
{
	for (unsigned i = 0; i < slice->word_count; i++) {
		if (slice->site->keys[i] == key) {
			return slice->words[i];
		}
	}
	return 0;
}

/* Numbers a call of CUDA. The outermost open call submits a device's work. */
static int note_launch(struct hk_exporter *kineto, struct thread *thread,
		       const struct hk_slice *slice)
{
	const struct hk_launch launch = {
	    .start_ns = slice->start_ns,
	    .end_ns = slice->end_ns,
	    .stream = word_of(slice, HK_KEY_STREAM),
	    .any_stream = !hk_slice_has(slice, HK_KEY_STREAM),
	    .show_pid = thread->shown->process->show_pid,
	    .show_tid = thread->shown->show_tid,
	    .thread = thread->shown->uid,
	    .correlation = ++kineto->correlation,
	};

	return thread->cuda_depth++ ? 0 : hk_launches_add(&kineto->launches, &launch);
}

static int kineto_open(struct hk_exporter *kineto, struct hk_export_thread *shown,
		       const struct hk_slice *slice)
{
	struct thread *thread = shown->private;
	int rc = 0;

	if (thread->depth == thread->capacity) {
		uint32_t capacity = thread->capacity * 2 + 16;
		uint64_t *more =
		    reallocarray(thread->correlations, capacity, sizeof(*thread->correlations));

		if (!more) {
			return -ENOMEM;
		}
		thread->correlations = more;
		thread->capacity = capacity;
	}
	if (is_cuda(slice->site)) {
		rc = note_launch(kineto, thread, slice);
	}
	thread->correlations[thread->depth++] = is_cuda(slice->site) ? kineto->correlation : 0;
	return rc;
}

/* Writes a value. A `stream` or a `device` gets another name, because readers take every event with
 * one for an activity of the device. */
static void write_value(struct hk_json *json, const struct hk_export_site *site, uint8_t key,
			uint64_t word)
{
	switch (key) {
	case HK_KEY_STREAM:
		hk_json_hex(json, "stream handle", word);
		break;
	case HK_KEY_DEVICE:
		hk_json_int(json, "device number", (int32_t)word);
		break;
	default:
		hk_details_json_value(json, site, key, word);
		break;
	}
}

static void write_details(struct hk_json *json, const struct hk_slice *slice)
{
	struct hk_arguments arguments;

	hk_json_string(json, "library", slice->site->library);
	hk_json_string(json, "domain", slice->site->domain);
	for (unsigned i = 0; i < slice->word_count; i++) {
		write_value(json, slice->site, slice->site->keys[i], slice->words[i]);
	}
	if (hk_slice_arguments(slice, &arguments)) {
		hk_details_json_arguments(json, "arguments", &arguments);
		if (!hk_slice_has(slice, HK_KEY_RESULT)) {
			hk_details_json_argument(json, "result", &arguments.result);
		}
	}
	if (slice->unwound) {
		hk_json_uint(json, "unwound", 1);
	}
	if (slice->failed) {
		hk_json_uint(json, "failed", 1);
	}
}

/* Writes the caller's stack as PyTorch does: innermost first, with ";" between. */
static int write_stack(struct hk_exporter *kineto, const struct hk_export_thread *shown,
		       const struct hk_slice *slice)
{
	char text[HK_CALLERS_STACK_BYTES];
	int rc = slice->stack
		     ? hk_callers_write(kineto->callers, shown->process, slice->stack, ';', text)
		     : -ENOENT;

	if (rc == 0) {
		hk_json_string(&kineto->file.json, "Call stack", text);
	}
	return rc == -ENOENT ? 0 : rc;
}

static int kineto_close(struct hk_exporter *kineto, struct hk_export_thread *shown,
			const struct hk_slice *slice)
{
	struct thread *thread = shown->private;
	uint64_t correlation = thread->correlations[--thread->depth];

	thread->cuda_depth -= is_cuda(slice->site);
	kineto->last_ns = slice->end_ns > kineto->last_ns ? slice->end_ns : kineto->last_ns;
	hk_kineto_row(&kineto->file, "X", category_of(slice->site), slice->site->function,
		      shown->process->show_pid, shown->show_tid);
	hk_kineto_span(&kineto->file, slice->start_ns, slice->end_ns);
	hk_json_open(&kineto->file.json, "args", '{');
	if (correlation) {
		hk_json_uint(&kineto->file.json, "correlation", correlation);
	}
	write_details(&kineto->file.json, slice);
	int rc = write_stack(kineto, shown, slice);
	hk_kineto_row_end(&kineto->file);
	return rc < 0 ? rc : hk_kineto_check(&kineto->file);
}

/* ---- devices ---- */

static void introduce_stream(struct hk_exporter *kineto, int32_t device, uint32_t number)
{
	uint64_t pid = (uint64_t)(uint32_t)device;
	char name[32];

	snprintf(name, sizeof(name), "GPU %" PRId32, device);
	hk_kineto_text(&kineto->file, "process_name", pid, 0, "name", name);
	hk_kineto_text(&kineto->file, "process_labels", pid, 0, "labels", name);
	hk_kineto_index(&kineto->file, "process_sort_index", pid, 0, 1000000u + pid);
	snprintf(name, sizeof(name), "stream %" PRIu32, number);
	hk_kineto_text(&kineto->file, "thread_name", pid, number, "name", name);
	hk_kineto_index(&kineto->file, "thread_sort_index", pid, number, number);
}

static const char *device_category(uint8_t meaning)
{
	switch (meaning) {
	case HK_MEANING_DEVICE_COPY:
		return "gpu_memcpy";
	case HK_MEANING_DEVICE_SET:
		return "gpu_memset";
	default:
		return "kernel";
	}
}

static void write_activity(struct hk_exporter *kineto, const char *name, uint32_t stream,
			   uint64_t correlation, const struct hk_device_activity *activity)
{
	struct hk_json *json = &kineto->file.json;
	uint64_t duration_ns = activity->end_ns - activity->start_ns;

	hk_kineto_row(&kineto->file, "X", device_category(activity->meaning), name,
		      (uint64_t)(uint32_t)activity->device, stream);
	hk_kineto_span(&kineto->file, activity->start_ns, activity->end_ns);
	hk_json_open(json, "args", '{');
	hk_json_int(json, "device", activity->device);
	hk_json_int(json, "context", 1); /* its number is unknown */
	hk_json_uint(json, "stream", stream);
	hk_json_uint(json, "correlation", correlation);
	if (activity->meaning != HK_MEANING_DEVICE_KERNEL) {
		double rate = duration_ns ? (double)activity->bytes / (double)duration_ns : 0;
		uint64_t bits;

		memcpy(&bits, &rate, sizeof(bits));
		hk_json_uint(json, "bytes", activity->bytes);
		hk_json_double(json, "memory bandwidth (GB/s)", bits);
	}
	hk_json_hex(json, "stream handle", activity->stream);
	hk_kineto_row_end(&kineto->file);
}

static int take_activity(struct hk_exporter *kineto, const struct hk_export_thread *shown,
			 const char *name, const struct hk_device_activity *activity)
{
	uint32_t pid = shown->process->show_pid;
	const struct hk_launch *launch;
	struct hk_stream *stream;
	bool is_new;
	uint64_t correlation;
	int rc;

	if (activity->device < 0 || activity->end_ns < kineto->from_ns ||
	    activity->start_ns > kineto->to_ns || activity->start_ns < kineto->file.base_ns) {
		return 0;
	}
	rc = hk_streams_find(&kineto->streams, pid, activity, &stream, &is_new);
	if (rc < 0) {
		return rc;
	}
	if (is_new) {
		introduce_stream(kineto, activity->device, stream->number);
	}
	launch = hk_launches_find(&kineto->launches, activity, pid, shown->show_tid);
	correlation = launch ? launch->correlation : ++kineto->correlation;
	write_activity(kineto, name, stream->number, correlation, activity);
	if (launch) {
		hk_kineto_flow(&kineto->file, "s", correlation, pid, launch->show_tid,
			       launch->start_ns);
		hk_kineto_flow(&kineto->file, "f", correlation,
			       (uint64_t)(uint32_t)activity->device, stream->number,
			       activity->start_ns);
	}
	return hk_kineto_check(&kineto->file);
}

/* ---- instants ---- */

/* Ends the thread's step, which lasts until its next one. Readers find iterations by rows of this
 * name. */
static void end_step(struct hk_exporter *kineto, struct thread *thread, uint64_t end_ns)
{
	char name[48];

	if (!thread->in_step) {
		return;
	}
	thread->in_step = false;
	snprintf(name, sizeof(name), "ProfilerStep#%" PRIu64, thread->step);
	hk_kineto_row(&kineto->file, "X", "user_annotation", name, thread->shown->process->show_pid,
		      thread->shown->show_tid);
	hk_kineto_span(&kineto->file, thread->step_ns,
		       end_ns > thread->step_ns ? end_ns : thread->step_ns);
	hk_json_open(&kineto->file.json, "args", '{');
	hk_json_uint(&kineto->file.json, "step", thread->step);
	hk_kineto_row_end(&kineto->file);
}

static void begin_step(struct hk_exporter *kineto, struct thread *thread,
		       const struct hk_slice *slice)
{
	end_step(kineto, thread, slice->start_ns);
	thread->step = word_of(slice, HK_KEY_STEP);
	thread->in_step = thread->step != NO_STEP;
	thread->step_ns = slice->start_ns;
}

static int kineto_instant(struct hk_exporter *kineto, struct hk_export_thread *shown,
			  const struct hk_slice *slice)
{
	bool counter = slice->site->meaning == HK_MEANING_COUNTER;
	struct hk_device_activity activity;
	struct hk_json *json = &kineto->file.json;

	if (hk_activity_read(slice, &activity)) {
		return take_activity(kineto, shown, slice->site->function, &activity);
	}
	kineto->last_ns = slice->start_ns > kineto->last_ns ? slice->start_ns : kineto->last_ns;
	if (hk_slice_has(slice, HK_KEY_STEP)) {
		begin_step(kineto, shown->private, slice);
		return hk_kineto_check(&kineto->file);
	}
	hk_kineto_row(&kineto->file, counter ? "C" : "i", "user_annotation", slice->site->function,
		      shown->process->show_pid, shown->show_tid);
	hk_kineto_time(&kineto->file, "ts", slice->start_ns);
	if (!counter) {
		hk_json_string(json, "s", "t"); /* on its thread */
	}
	hk_json_open(json, "args", '{');
	if (counter) {
		/* Every member is a series of its own. */
		hk_json_double(json, "value", slice->word_count ? slice->words[0] : 0);
	} else {
		write_details(json, slice);
	}
	hk_kineto_row_end(&kineto->file);
	return hk_kineto_check(&kineto->file);
}

static int kineto_mark(struct hk_exporter *kineto, const struct hk_export_process *process,
		       uint64_t time_ns, const struct hk_export_gap *gap)
{
	char name[32];

	snprintf(name, sizeof(name), "%s records", gap->why);
	hk_kineto_row(&kineto->file, "i", "hooktrace", name, process->show_pid, process->show_pid);
	hk_kineto_time(&kineto->file, "ts", time_ns);
	hk_json_string(&kineto->file.json, "s", "p"); /* across the whole process */
	hk_json_open(&kineto->file.json, "args", '{');
	hk_json_uint(&kineto->file.json, gap->why, gap->records);
	hk_kineto_row_end(&kineto->file);
	return hk_kineto_check(&kineto->file);
}

/* ---- end ---- */

static int kineto_end(struct hk_exporter *kineto)
{
	for (struct thread *thread = kineto->threads; thread; thread = thread->next) {
		end_step(kineto, thread, kineto->last_ns);
	}
	putc_unlocked('\n', kineto->file.json.output);
	hk_json_close(&kineto->file.json, ']');
	hk_json_close(&kineto->file.json, '}');
	putc_unlocked('\n', kineto->file.json.output);
	return fflush(kineto->file.json.output) ? -errno : hk_kineto_check(&kineto->file);
}

static void kineto_free(struct hk_exporter *kineto)
{
	if (!kineto) {
		return;
	}
	hk_streams_free(kineto->streams);
	for (struct thread *thread = kineto->threads, *next; thread; thread = next) {
		next = thread->next;
		free(thread->correlations);
		free(thread);
	}
	hk_launches_fini(&kineto->launches);
	hk_callers_free(kineto->callers);
	free(kineto);
}

const struct hk_exporter_ops hk_kineto_exporter = {
    .format = "kineto",
    .suffix = "json",
    .makes_files = true,
    .rank_file_begin = BEGIN,
    .create = kineto_create,
    .begin = kineto_begin,
    .thread = kineto_thread,
    .open = kineto_open,
    .close = kineto_close,
    .instant = kineto_instant,
    .mark = kineto_mark,
    .end = kineto_end,
    .free = kineto_free,
};
