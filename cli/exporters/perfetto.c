/* Perfetto's protobuf trace, written packet by packet: memory does not grow with the trace.
 *
 * One packet sequence per thread, so that names are interned and state is kept per thread and ranks
 * never share a sequence. Timestamps are absolute nanoseconds, declared as BOOTTIME, Perfetto's
 * default trace clock, and tied to REALTIME by one snapshot at the start. Calls are BEGIN and END
 * pairs on the thread's track. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "exporters/details.h"
#include "exporters/exporter.h"
#include "hooks/hook.h"
#include "hooks/names.h"
#include "report/utf8.h"

#define CLOCK HK__PERFETTO__CLOCK_SNAPSHOT__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME
#define REALTIME HK__PERFETTO__CLOCK_SNAPSHOT__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME
#define CLEARED HK__PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED
#define NEEDS_STATE HK__PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE
#define TRACE_PACKET_TAG 0x0a /* field 1 of Trace, length-delimited */
#define GLOBAL_SEQUENCE 1u    /* descriptors, marks; threads follow */

/* Interned ids of annotation names: "library", "unwound", "failed"; a key's is FIRST_KEY + its
 * number.
 */
#define NAME_LIBRARY 1u
#define NAME_UNWOUND 2u
#define NAME_FAILED 3u
#define FIRST_KEY 3u
#define KEYS (HK_KEY_VALUE + 1)
#define ANNOTATIONS (HK_SLICE_WORDS + HK_DETAILS_ANNOTATIONS + 2) /* library, unwound besides */

struct hk_exporter {
	FILE *output;
	uint64_t start_ns;
	uint8_t *buffer;
	size_t buffer_size;
};

#define COUNTER_DESCRIBED UINT32_MAX

/* What a sequence has interned already: events name their strings by number from then on. */
struct sequence {
	uint32_t *sites; /* by site index: iid of function, category and library alike, 0 not yet;
			    of a counter COUNTER_DESCRIBED */
	uint32_t site_capacity;
	uint32_t next_iid;
	bool keys[KEYS];
};

static struct hk_exporter *perfetto_create(const struct hk_export_target *target)
{
	struct hk_exporter *perfetto = calloc(1, sizeof(*perfetto));

	if (perfetto) {
		perfetto->output = target->output;
	}
	return perfetto;
}

static void perfetto_free(struct hk_exporter *perfetto)
{
	if (perfetto) {
		free(perfetto->buffer);
		free(perfetto);
	}
}

static int write_packet(struct hk_exporter *perfetto, const Hk__Perfetto__TracePacket *packet)
{
	size_t size = hk__perfetto__trace_packet__get_packed_size(packet);
	uint8_t head[11] = {TRACE_PACKET_TAG};
	size_t head_size = 1;

	if (size > perfetto->buffer_size) {
		uint8_t *buffer = realloc(perfetto->buffer, size * 2);

		if (!buffer) {
			return -ENOMEM;
		}
		perfetto->buffer = buffer;
		perfetto->buffer_size = size * 2;
	}
	for (size_t rest = size; head_size == 1 || rest; rest >>= 7) {
		head[head_size++] = (uint8_t)((rest & 0x7f) | (rest >> 7 ? 0x80 : 0));
	}
	hk__perfetto__trace_packet__pack(packet, perfetto->buffer);
	fwrite_unlocked(head, 1, head_size, perfetto->output);
	fwrite_unlocked(perfetto->buffer, 1, size, perfetto->output);
	if (!ferror_unlocked(perfetto->output)) {
		return 0;
	}
	return errno > 0 ? -errno : -EIO; /* as the write that failed left it */
}

static Hk__Perfetto__TracePacket packet_on(uint32_t sequence, uint64_t time_ns)
{
	Hk__Perfetto__TracePacket packet = HK__PERFETTO__TRACE_PACKET__INIT;

	packet.has_timestamp = 1;
	packet.timestamp = time_ns;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = sequence;
	return packet;
}

/* The first packet of the file: trace time is Unix time. */
static int write_clocks(struct hk_exporter *perfetto)
{
	Hk__Perfetto__TracePacket packet = packet_on(GLOBAL_SEQUENCE, perfetto->start_ns);
	Hk__Perfetto__ClockSnapshot snapshot = HK__PERFETTO__CLOCK_SNAPSHOT__INIT;
	Hk__Perfetto__ClockSnapshot__Clock boottime = HK__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Hk__Perfetto__ClockSnapshot__Clock realtime = HK__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Hk__Perfetto__ClockSnapshot__Clock *clocks[] = {&boottime, &realtime};

	boottime.has_clock_id = realtime.has_clock_id = 1;
	boottime.has_timestamp = realtime.has_timestamp = 1;
	boottime.clock_id = CLOCK;
	realtime.clock_id = REALTIME;
	boottime.timestamp = realtime.timestamp = perfetto->start_ns;
	snapshot.n_clocks = 2;
	snapshot.clocks = clocks;
	snapshot.has_primary_trace_clock = 1;
	snapshot.primary_trace_clock = CLOCK;
	packet.clock_snapshot = &snapshot;
	packet.has_timestamp_clock_id = 1;
	packet.timestamp_clock_id = CLOCK;
	packet.has_first_packet_on_sequence = 1;
	packet.first_packet_on_sequence = 1;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = CLEARED;
	return write_packet(perfetto, &packet);
}

static int write_descriptor(struct hk_exporter *perfetto, uint32_t sequence,
			    Hk__Perfetto__TrackDescriptor *descriptor, uint64_t uuid)
{
	Hk__Perfetto__TracePacket packet = packet_on(sequence, perfetto->start_ns);

	descriptor->has_uuid = 1;
	descriptor->uuid = uuid;
	packet.track_descriptor = descriptor;
	packet.has_timestamp_clock_id = 1;
	packet.timestamp_clock_id = CLOCK;
	return write_packet(perfetto, &packet);
}

/* Track 0 stands for the whole trace and says that processes have an order of their own. */
static int write_root(struct hk_exporter *perfetto)
{
	Hk__Perfetto__TrackDescriptor root = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;

	root.has_process_ordering = 1;
	root.process_ordering =
	    HK__PERFETTO__TRACK_DESCRIPTOR__PROCESS_ORDERING__PROCESS_ORDERING_EXPLICIT;
	return write_descriptor(perfetto, GLOBAL_SEQUENCE, &root, 0);
}

#define CLOCK_TEXT_BYTES 96

/* How wrong the times of PROCESS may be. */
static void clock_text(const struct hk_export_process *process, char text[CLOCK_TEXT_BYTES])
{
	if (process->clock_known) {
		snprintf(text, CLOCK_TEXT_BYTES, "clock: within %" PRIu64 " ns of the root's",
			 process->clock_error_ns);
	} else {
		snprintf(text, CLOCK_TEXT_BYTES, "clock: its node's own, nobody knows how wrong");
	}
}

static int write_process(struct hk_exporter *perfetto, const struct hk_export_process *process,
			 bool many_nodes)
{
	char text[CLOCK_TEXT_BYTES];
	Hk__Perfetto__TrackDescriptor track = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Hk__Perfetto__ProcessDescriptor descriptor = HK__PERFETTO__PROCESS_DESCRIPTOR__INIT;
	char *cmdline[] = {(char *)process->command};

	descriptor.has_pid = 1;
	descriptor.pid = (int32_t)process->show_pid;
	descriptor.process_name = (char *)process->title;
	descriptor.n_cmdline = 1;
	descriptor.cmdline = cmdline;
	track.process = &descriptor;
	track.name = (char *)process->title;
	if (many_nodes) {
		clock_text(process, text);
		track.description = text;
	}
	track.has_sibling_order_rank = 1;
	track.sibling_order_rank = process->index > INT32_MAX ? INT32_MAX : (int32_t)process->index;
	return write_descriptor(perfetto, GLOBAL_SEQUENCE, &track, process->uuid);
}

static int perfetto_begin(struct hk_exporter *perfetto, const struct hk_export_job *job)
{
	int rc;

	perfetto->start_ns = job->start_ns;
	rc = write_clocks(perfetto);
	if (rc < 0) {
		return rc;
	}
	rc = write_root(perfetto);
	for (size_t i = 0; rc == 0 && i < job->process_count; i++) {
		rc = write_process(perfetto, job->processes[i], job->many_nodes);
	}
	return rc;
}

/* The first packet of a thread's sequence clears its state and says what holds for all its events.
 */
static int write_defaults(struct hk_exporter *perfetto, const struct hk_export_thread *thread)
{
	Hk__Perfetto__TracePacket packet =
	    packet_on(GLOBAL_SEQUENCE + thread->sequence, perfetto->start_ns);
	Hk__Perfetto__TracePacketDefaults defaults = HK__PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Hk__Perfetto__TrackEventDefaults event = HK__PERFETTO__TRACK_EVENT_DEFAULTS__INIT;

	event.has_track_uuid = 1;
	event.track_uuid = thread->uuid;
	defaults.track_event_defaults = &event;
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = CLOCK;
	packet.trace_packet_defaults = &defaults;
	packet.has_first_packet_on_sequence = 1;
	packet.first_packet_on_sequence = 1;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = CLEARED;
	return write_packet(perfetto, &packet);
}

static int perfetto_thread(struct hk_exporter *perfetto, struct hk_export_thread *thread)
{
	Hk__Perfetto__TrackDescriptor track = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Hk__Perfetto__ThreadDescriptor descriptor = HK__PERFETTO__THREAD_DESCRIPTOR__INIT;
	struct sequence *sequence = calloc(1, sizeof(*sequence));
	int rc;

	if (!sequence) {
		return -ENOMEM;
	}
	sequence->next_iid = 1;
	thread->private = sequence;
	rc = write_defaults(perfetto, thread);
	if (rc < 0) {
		return rc;
	}
	descriptor.has_pid = descriptor.has_tid = 1;
	descriptor.pid = (int32_t)thread->process->show_pid;
	descriptor.tid = (int32_t)thread->show_tid;
	descriptor.thread_name = thread->name;
	track.thread = &descriptor;
	track.name = thread->name;
	track.has_parent_uuid = 1;
	track.parent_uuid = thread->process->uuid;
	return write_descriptor(perfetto, GLOBAL_SEQUENCE + thread->sequence, &track, thread->uuid);
}

/* Everything one BEGIN may have to say for the first time. */
struct novelty {
	Hk__Perfetto__InternedData data;
	Hk__Perfetto__InternedName category, function, names[ANNOTATIONS + 1];
	Hk__Perfetto__InternedString library;
	Hk__Perfetto__InternedName *categories[1], *functions[1], *name_list[ANNOTATIONS + 1];
	Hk__Perfetto__InternedString *libraries[1];
};

static void intern_name(struct novelty *novelty, uint64_t iid, const char *name)
{
	size_t at = novelty->data.n_debug_annotation_names++;

	hk__perfetto__interned_name__init(&novelty->names[at]);
	novelty->names[at].has_iid = 1;
	novelty->names[at].iid = iid;
	novelty->names[at].name = (char *)name;
	novelty->name_list[at] = &novelty->names[at];
	novelty->data.debug_annotation_names = novelty->name_list;
}

static void intern_site(struct novelty *novelty, uint64_t iid, const struct hk_export_site *site)
{
	hk__perfetto__interned_name__init(&novelty->category);
	hk__perfetto__interned_name__init(&novelty->function);
	hk__perfetto__interned_string__init(&novelty->library);
	novelty->category.has_iid = novelty->function.has_iid = novelty->library.has_iid = 1;
	novelty->category.iid = novelty->function.iid = novelty->library.iid = iid;
	novelty->category.name = (char *)site->domain;
	novelty->function.name = (char *)site->function;
	novelty->library.has_str = 1;
	novelty->library.str.data = (uint8_t *)site->library;
	novelty->library.str.len = strlen(site->library);
	novelty->categories[0] = &novelty->category;
	novelty->functions[0] = &novelty->function;
	novelty->libraries[0] = &novelty->library;
	novelty->data.n_event_categories = novelty->data.n_event_names = 1;
	novelty->data.n_debug_annotation_string_values = 1;
	novelty->data.event_categories = novelty->categories;
	novelty->data.event_names = novelty->functions;
	novelty->data.debug_annotation_string_values = novelty->libraries;
}

static int reserve_site(struct sequence *sequence, const struct hk_export_site *site)
{
	uint32_t capacity = site->index + site->index / 2 + 16;
	uint32_t *sites;

	if (site->index < sequence->site_capacity) {
		return 0;
	}
	sites = reallocarray(sequence->sites, capacity, sizeof(*sites));
	if (!sites) {
		return -ENOMEM;
	}
	memset(sites + sequence->site_capacity, 0,
	       (capacity - sequence->site_capacity) * sizeof(*sites));
	sequence->sites = sites;
	sequence->site_capacity = capacity;
	return 0;
}

/* Finds or gives the iid of SITE in SEQUENCE; what is new goes into NOVELTY. 0: out of memory. */
static uint32_t site_iid(struct sequence *sequence, const struct hk_export_site *site,
			 struct novelty *novelty)
{
	if (reserve_site(sequence, site) < 0) {
		return 0;
	}
	if (!sequence->sites[site->index]) {
		if (sequence->next_iid == 1) {
			intern_name(novelty, NAME_LIBRARY, "library");
			intern_name(novelty, NAME_UNWOUND, "unwound");
			intern_name(novelty, NAME_FAILED, "failed");
		}
		sequence->sites[site->index] = sequence->next_iid++;
		intern_site(novelty, sequence->sites[site->index], site);
	}
	return sequence->sites[site->index];
}

static void annotate_word(Hk__Perfetto__DebugAnnotation *annotation, uint8_t key, uint64_t word)
{
	annotation->has_name_iid = 1;
	annotation->name_iid = FIRST_KEY + key;
	switch (hk_exporter_value_form(key)) {
	case HK_VALUE_UNNAMED:
	case HK_VALUE_UINT64:
		annotation->has_uint_value = 1;
		annotation->uint_value = word;
		break;
	case HK_VALUE_INT64:
		annotation->has_int_value = 1;
		annotation->int_value = (int64_t)word;
		break;
	case HK_VALUE_INT32:
		annotation->has_int_value = 1;
		annotation->int_value = (int32_t)word;
		break;
	case HK_VALUE_HANDLE:
		annotation->has_pointer_value = 1;
		annotation->pointer_value = word;
		break;
	case HK_VALUE_DOUBLE:
		annotation->has_double_value = 1;
		memcpy(&annotation->double_value, &word, sizeof(word));
		break;
	}
}

/* Library, named values, arguments and unwound mark of SLICE; number of annotations. */
static size_t annotate(struct sequence *sequence, const struct hk_slice *slice, uint32_t library,
		       Hk__Perfetto__DebugAnnotation *annotations, struct novelty *novelty,
		       struct hk_details *details)
{
	size_t count = 0;

	hk__perfetto__debug_annotation__init(&annotations[count]);
	annotations[count].has_name_iid = annotations[count].has_string_value_iid = 1;
	annotations[count].name_iid = NAME_LIBRARY;
	annotations[count++].string_value_iid = library;
	for (unsigned int i = 0; i < slice->word_count; i++) {
		uint8_t key = slice->site->keys[i];

		if (hk_exporter_value_form(key) == HK_VALUE_UNNAMED) {
			continue;
		}
		if (!sequence->keys[key]) {
			sequence->keys[key] = true;
			intern_name(novelty, FIRST_KEY + key, hk_key_name(key));
		}
		hk__perfetto__debug_annotation__init(&annotations[count]);
		annotate_word(&annotations[count++], key, slice->words[i]);
	}
	count += hk_details_annotate(slice, details, &annotations[count]);
	if (slice->unwound || slice->failed) { /* never both */
		hk__perfetto__debug_annotation__init(&annotations[count]);
		annotations[count].has_name_iid = annotations[count].has_bool_value = 1;
		annotations[count].name_iid = slice->unwound ? NAME_UNWOUND : NAME_FAILED;
		annotations[count++].bool_value = 1;
	}
	return count;
}

/* Begins an event of TYPE at SLICE's start on THREAD's sequence, with its name and annotations. */
static int write_event(struct hk_exporter *perfetto, const struct hk_export_thread *thread,
		       const struct hk_slice *slice, Hk__Perfetto__TrackEvent__Type type)
{
	Hk__Perfetto__TracePacket packet =
	    packet_on(GLOBAL_SEQUENCE + thread->sequence, slice->start_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;
	Hk__Perfetto__DebugAnnotation annotations[ANNOTATIONS];
	Hk__Perfetto__DebugAnnotation *annotation_list[ANNOTATIONS];
	struct novelty novelty = {.data = HK__PERFETTO__INTERNED_DATA__INIT};
	struct hk_details details;
	struct sequence *sequence = thread->private;
	uint32_t iid = site_iid(sequence, slice->site, &novelty);
	uint64_t category = iid;

	if (!iid) {
		return -ENOMEM;
	}
	event.has_type = 1;
	event.type = type;
	event.has_name_iid = 1;
	event.name_iid = iid;
	event.n_category_iids = 1;
	event.category_iids = &category;
	event.n_debug_annotations = annotate(sequence, slice, iid, annotations, &novelty, &details);
	event.debug_annotations = annotation_list;
	for (size_t i = 0; i < event.n_debug_annotations; i++) {
		annotation_list[i] = &annotations[i];
	}
	packet.track_event = &event;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = NEEDS_STATE;
	if (novelty.data.n_event_names || novelty.data.n_debug_annotation_names) {
		packet.interned_data = &novelty.data;
	}
	return write_packet(perfetto, &packet);
}

static int perfetto_open(struct hk_exporter *perfetto, struct hk_export_thread *thread,
			 const struct hk_slice *slice)
{
	return write_event(perfetto, thread, slice,
			   HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN);
}

/* A counter is one track of its process, whichever thread counts. */
static uint64_t counter_uuid(const struct hk_export_thread *thread, const struct hk_slice *slice)
{
	return XXH3_64bits_withSeed(slice->site->function, strlen(slice->site->function),
				    thread->process->uuid);
}

static int describe_counter(struct hk_exporter *perfetto, const struct hk_export_thread *thread,
			    const struct hk_slice *slice)
{
	Hk__Perfetto__TrackDescriptor track = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Hk__Perfetto__CounterDescriptor counter = HK__PERFETTO__COUNTER_DESCRIPTOR__INIT;

	track.counter = &counter;
	track.name = (char *)slice->site->function;
	track.has_parent_uuid = 1;
	track.parent_uuid = thread->process->uuid;
	return write_descriptor(perfetto, GLOBAL_SEQUENCE + thread->sequence, &track,
				counter_uuid(thread, slice));
}

static int write_counter(struct hk_exporter *perfetto, const struct hk_export_thread *thread,
			 const struct hk_slice *slice)
{
	Hk__Perfetto__TracePacket packet =
	    packet_on(GLOBAL_SEQUENCE + thread->sequence, slice->start_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;

	event.has_type = 1;
	event.type = HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
	event.has_track_uuid = 1;
	event.track_uuid = counter_uuid(thread, slice);
	event.has_double_counter_value = 1;
	memcpy(&event.double_counter_value, slice->words, sizeof(slice->words[0]));
	packet.track_event = &event;
	return write_packet(perfetto, &packet);
}

static int perfetto_instant(struct hk_exporter *perfetto, struct hk_export_thread *thread,
			    const struct hk_slice *slice)
{
	struct sequence *sequence = thread->private;
	int rc;

	if (slice->site->meaning != HK_MEANING_COUNTER) {
		return write_event(perfetto, thread, slice,
				   HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT);
	}
	if (!slice->word_count) {
		return 0;
	}
	rc = reserve_site(sequence, slice->site);
	if (rc == 0 && !sequence->sites[slice->site->index]) {
		sequence->sites[slice->site->index] = COUNTER_DESCRIBED;
		rc = describe_counter(perfetto, thread, slice);
	}
	return rc < 0 ? rc : write_counter(perfetto, thread, slice);
}

static int perfetto_close(struct hk_exporter *perfetto, struct hk_export_thread *thread,
			  const struct hk_slice *slice)
{
	Hk__Perfetto__TracePacket packet =
	    packet_on(GLOBAL_SEQUENCE + thread->sequence, slice->end_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;

	event.has_type = 1;
	event.type = HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	packet.track_event = &event;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = NEEDS_STATE;
	return write_packet(perfetto, &packet);
}

static int perfetto_mark(struct hk_exporter *perfetto, const struct hk_export_process *process,
			 uint64_t time_ns, const struct hk_export_gap *gap)
{
	Hk__Perfetto__TracePacket packet = packet_on(GLOBAL_SEQUENCE, time_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;
	Hk__Perfetto__DebugAnnotation annotation = HK__PERFETTO__DEBUG_ANNOTATION__INIT;
	Hk__Perfetto__DebugAnnotation *annotations[] = {&annotation};
	char *categories[] = {"hooktrace"};

	char name[32];

	snprintf(name, sizeof(name), "%s records", gap->why);
	annotation.name = (char *)gap->why;
	annotation.has_uint_value = 1;
	annotation.uint_value = gap->records;
	event.has_type = 1;
	event.type = HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT;
	event.has_track_uuid = 1;
	event.track_uuid = process->uuid;
	event.name = name;
	event.n_categories = 1;
	event.categories = categories;
	event.n_debug_annotations = 1;
	event.debug_annotations = annotations;
	packet.track_event = &event;
	packet.has_timestamp_clock_id = 1;
	packet.timestamp_clock_id = CLOCK;
	return write_packet(perfetto, &packet);
}

static void perfetto_forget(struct hk_exporter *perfetto, struct hk_export_thread *thread)
{
	struct sequence *sequence = thread->private;

	(void)perfetto;
	if (sequence) {
		free(sequence->sites);
		free(sequence);
		thread->private = NULL;
	}
}

static int perfetto_end(struct hk_exporter *perfetto)
{
	return fflush(perfetto->output) ? -errno : 0;
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
    .forget = perfetto_forget,
    .end = perfetto_end,
    .free = perfetto_free,
};
