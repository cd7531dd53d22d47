#include "cli/export/perfetto/perfetto_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/details.h"
#include "cli/export/perfetto/perfetto_track.h"

#define ANNOTATIONS \
	(HK_SLICE_WORDS + HK_DETAILS_ANNOTATIONS + 3) /* library, stack, and the unwound mark */

/* Most bytes of an event with numbers only: 10 per number, 2 for its tag, 6 for each nested
 * message. */
#define EVENT_MOST 160u
#define FLOW_MOST 12u
#define ANNOTATION_MOST 48u

static void annotate_word(Hk__Perfetto__DebugAnnotation *annotation, uint8_t key, uint64_t word)
{
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
	case HK_VALUE_TEXT: /* no number */
		break;
	}
}

static Hk__Perfetto__DebugAnnotation *start_annotation(Hk__Perfetto__DebugAnnotation *annotation,
						       uint64_t name)
{
	hk__perfetto__debug_annotation__init(annotation);
	annotation->has_name_iid = 1;
	annotation->name_iid = name;
	return annotation;
}

/* Annotates SLICE with library, named values, arguments and unwound mark. Returns the number of
 * annotations, and whether all are numbers. */
static size_t annotate(struct hk_perfetto_sequence *sequence, const struct hk_slice *slice,
		       uint64_t library, Hk__Perfetto__DebugAnnotation *annotations,
		       struct hk_perfetto_novelty *novelty, struct hk_details *details,
		       bool *ret_numbers)
{
	size_t count = 0;
	bool numbers = true;

	start_annotation(&annotations[count], HK_PERFETTO_NAME_LIBRARY);
	annotations[count].has_string_value_iid = 1;
	annotations[count++].string_value_iid = library;
	for (unsigned int i = 0; i < slice->word_count; i++) {
		uint8_t key = slice->site->keys[i];

		if (hk_exporter_value_form(key) == HK_VALUE_UNNAMED ||
		    !hk_exporter_has_value(key, slice->words[i])) {
			continue;
		}
		Hk__Perfetto__DebugAnnotation *annotation = start_annotation(
		    &annotations[count++], hk_perfetto_intern_key(sequence, key, novelty));
		annotate_word(annotation, key, slice->words[i]);
		if (hk_exporter_value_form(key) == HK_VALUE_TEXT) {
			numbers = false;
			annotation->string_value = (char *)(uintptr_t)hk_exporter_value_text(
			    slice->site, key, slice->words[i], details->values[i]);
		}
	}
	size_t detailed = hk_details_annotate(slice, details, &annotations[count]);
	*ret_numbers = numbers && detailed == 0;
	count += detailed;
	if (slice->unwound || slice->failed) { /* never both */
		start_annotation(&annotations[count], slice->unwound ? HK_PERFETTO_NAME_UNWOUND
								     : HK_PERFETTO_NAME_FAILED);
		annotations[count].has_bool_value = 1;
		annotations[count++].bool_value = 1;
	}
	return count;
}

/* Sets *ret_id to the id of the stack of SLICE, 0 if it has none. TEXT is for the stack's text and
 * must last as long as NOVELTY. Returns 0 or -ENOMEM. */
static int find_stack(const struct hk_perfetto_writer *writer,
		      const struct hk_export_thread *thread, struct hk_perfetto_sequence *sequence,
		      const struct hk_slice *slice, struct hk_perfetto_novelty *novelty,
		      char text[HK_CALLERS_STACK_BYTES], uint64_t *ret_id)
{
	*ret_id = slice->stack ? hk_perfetto_find_stack(sequence, slice->stack) : 0;
	if (*ret_id || !slice->stack) {
		return 0;
	}
	int rc = hk_callers_write(writer->callers, thread->process, slice->stack, '\n', text);

	if (rc < 0) {
		return rc == -ENOENT ? 0 : rc;
	}
	*ret_id = hk_perfetto_intern_stack(sequence, slice->stack, text, novelty);
	return *ret_id ? 0 : -ENOMEM;
}

int hk_perfetto_write_call(struct hk_perfetto_writer *writer, const struct hk_export_thread *thread,
			   struct hk_perfetto_sequence *sequence, const struct hk_slice *slice,
			   Hk__Perfetto__TrackEvent__Type type, uint64_t track)
{
	Hk__Perfetto__TracePacket packet =
	    hk_perfetto_packet(HK_PERFETTO_GLOBAL + thread->sequence, slice->start_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;
	Hk__Perfetto__DebugAnnotation annotations[ANNOTATIONS];
	Hk__Perfetto__DebugAnnotation *annotation_list[ANNOTATIONS];
	struct hk_perfetto_novelty novelty = HK_PERFETTO_NOVELTY;
	struct hk_details details;
	uint64_t id = hk_perfetto_intern_site(sequence, slice->site, &novelty), stack, flow_ids[1];
	char stack_text[HK_CALLERS_STACK_BYTES];
	bool numbers;

	if (!id || find_stack(writer, thread, sequence, slice, &novelty, stack_text, &stack) < 0) {
		return -ENOMEM;
	}
	event.has_type = 1;
	event.type = type;
	event.has_name_iid = 1;
	event.name_iid = id;
	event.has_track_uuid = track != 0;
	event.track_uuid = track;
	event.n_category_iids = 1;
	event.category_iids = &id;
	flow_ids[0] = slice->flow_out ? slice->flow_out : slice->flow_joint; /* never both */
	event.n_flow_ids = flow_ids[0] != 0;
	event.flow_ids = flow_ids;
	event.n_debug_annotations =
	    annotate(sequence, slice, id, annotations, &novelty, &details, &numbers);
	if (stack) {
		Hk__Perfetto__DebugAnnotation *annotation = start_annotation(
		    &annotations[event.n_debug_annotations++], HK_PERFETTO_NAME_STACK);
		annotation->has_string_value_iid = 1;
		annotation->string_value_iid = stack;
	}
	event.debug_annotations = annotation_list;
	for (size_t i = 0; i < event.n_debug_annotations; i++) {
		annotation_list[i] = &annotations[i];
	}
	packet.track_event = &event;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = HK_PERFETTO_NEEDS_STATE;
	packet.interned_data = hk_perfetto_novelty_data(&novelty);
	return numbers && !packet.interned_data
		   ? hk_perfetto_write_within(writer, &packet,
					      EVENT_MOST + FLOW_MOST +
						  event.n_debug_annotations * ANNOTATION_MOST)
		   : hk_perfetto_write(writer, &packet);
}

static Hk__Perfetto__DebugAnnotation uint_annotation(const char *name, uint64_t value)
{
	Hk__Perfetto__DebugAnnotation annotation = HK__PERFETTO__DEBUG_ANNOTATION__INIT;

	annotation.name = (char *)name;
	annotation.has_uint_value = 1;
	annotation.uint_value = value;
	return annotation;
}

/* Writes an instant of hooktrace's own category, at the packet's time. */
static int write_note(struct hk_perfetto_writer *writer, Hk__Perfetto__TracePacket packet,
		      Hk__Perfetto__TrackEvent *event, const char *name)
{
	char *categories[] = {"hooktrace"};

	event->has_type = 1;
	event->type = HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT;
	event->name = (char *)name;
	event->n_categories = 1;
	event->categories = categories;
	packet.track_event = event;
	packet.has_timestamp_clock_id = 1;
	packet.timestamp_clock_id = HK_PERFETTO_CLOCK;
	return hk_perfetto_write(writer, &packet);
}

static int write_arrival(struct hk_perfetto_writer *writer, const struct hk_export_thread *thread,
			 uint64_t time_ns, const struct hk_export_arrival *arrival)
{
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;
	Hk__Perfetto__DebugAnnotation annotations[] = {
	    uint_annotation("source", (uint64_t)arrival->source),
	    uint_annotation("bytes", arrival->bytes),
	    uint_annotation("sent_ns_ago", time_ns - arrival->sent_ns),
	};
	Hk__Perfetto__DebugAnnotation *list[] = {&annotations[0], &annotations[1], &annotations[2]};
	uint64_t id = arrival->id;

	event.has_track_uuid = 1;
	event.track_uuid = thread->uuid;
	event.n_debug_annotations = 3;
	event.debug_annotations = list;
	event.n_terminating_flow_ids = 1;
	event.terminating_flow_ids = &id;
	return write_note(writer,
			  hk_perfetto_packet(HK_PERFETTO_GLOBAL + thread->sequence, time_ns),
			  &event, "message arrived");
}

int hk_perfetto_write_end(struct hk_perfetto_writer *writer, const struct hk_export_thread *thread,
			  const struct hk_slice *slice, uint64_t track)
{
	Hk__Perfetto__TracePacket packet =
	    hk_perfetto_packet(HK_PERFETTO_GLOBAL + thread->sequence, slice->end_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;
	uint64_t *ids = NULL;
	int rc = 0;

	if (slice->arrival_count) {
		ids = calloc(slice->arrival_count, sizeof(*ids));
		rc = ids ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < slice->arrival_count && rc == 0; i++) {
		const struct hk_export_arrival *arrival = &slice->arrivals[i];

		if (arrival->sent_ns > slice->start_ns) {
			rc = write_arrival(writer, thread, slice->end_ns, arrival);
		} else {
			ids[event.n_terminating_flow_ids++] = arrival->id;
		}
	}
	event.terminating_flow_ids = ids;
	event.has_track_uuid = track != 0;
	event.track_uuid = track;
	event.has_type = 1;
	event.type = HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	packet.track_event = &event;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = HK_PERFETTO_NEEDS_STATE;
	rc = rc < 0 ? rc
		    : hk_perfetto_write_within(
			  writer, &packet, EVENT_MOST + event.n_terminating_flow_ids * FLOW_MOST);
	free(ids);
	return rc;
}

int hk_perfetto_write_memory(struct hk_perfetto_writer *writer, const struct hk_curve_point *point)
{
	Hk__Perfetto__TracePacket packet = hk_perfetto_packet(HK_PERFETTO_GLOBAL, point->time_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;

	event.has_type = 1;
	event.type = HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
	event.has_track_uuid = 1;
	event.track_uuid = hk_perfetto_memory_uuid(point->process, point->name);
	event.has_counter_value = 1;
	event.counter_value = point->bytes > INT64_MAX ? INT64_MAX : (int64_t)point->bytes;
	packet.track_event = &event;
	packet.has_timestamp_clock_id = 1;
	packet.timestamp_clock_id = HK_PERFETTO_CLOCK;
	return hk_perfetto_write(writer, &packet);
}

int hk_perfetto_write_flows(struct hk_perfetto_writer *writer, const struct hk_export_flows *flows)
{
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;
	Hk__Perfetto__DebugAnnotation annotations[] = {
	    uint_annotation("messages", flows->messages),
	    uint_annotation("sends", flows->sends),
	    uint_annotation("receives", flows->receives),
	    uint_annotation("received_from_any", flows->any),
	    uint_annotation("received_before_sent", flows->early),
	    uint_annotation("calls_of_ranks_with_missing_records", flows->apart),
	};
	Hk__Perfetto__DebugAnnotation *list[sizeof(annotations) / sizeof(annotations[0])];
	int rc = hk_perfetto_write_flow_track(writer, &event.track_uuid);

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		list[i] = &annotations[i];
	}
	event.has_track_uuid = 1;
	event.n_debug_annotations = sizeof(list) / sizeof(list[0]);
	event.debug_annotations = list;
	return rc < 0 ? rc
		      : write_note(writer, hk_perfetto_packet(HK_PERFETTO_GLOBAL, writer->start_ns),
				   &event, "messages with both ends");
}

int hk_perfetto_write_counter(struct hk_perfetto_writer *writer,
			      const struct hk_export_thread *thread, const struct hk_slice *slice)
{
	Hk__Perfetto__TracePacket packet =
	    hk_perfetto_packet(HK_PERFETTO_GLOBAL + thread->sequence, slice->start_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;

	event.has_type = 1;
	event.type = HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
	event.has_track_uuid = 1;
	event.track_uuid = hk_perfetto_counter_uuid(thread->process, slice->site->function);
	event.has_double_counter_value = 1;
	memcpy(&event.double_counter_value, slice->words, sizeof(slice->words[0]));
	packet.track_event = &event;
	return hk_perfetto_write(writer, &packet);
}

int hk_perfetto_write_gap(struct hk_perfetto_writer *writer,
			  const struct hk_export_process *process, uint64_t time_ns,
			  const struct hk_export_gap *gap)
{
	Hk__Perfetto__TracePacket packet = hk_perfetto_packet(HK_PERFETTO_GLOBAL, time_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;
	Hk__Perfetto__DebugAnnotation annotation = uint_annotation(gap->why, gap->records);
	Hk__Perfetto__DebugAnnotation *annotations[] = {&annotation};
	char name[32];

	snprintf(name, sizeof(name), "%s records", gap->why);
	event.has_track_uuid = 1;
	event.track_uuid = process->uuid;
	event.n_debug_annotations = 1;
	event.debug_annotations = annotations;
	packet.has_previous_packet_dropped = 1;
	packet.previous_packet_dropped = 1;
	return write_note(writer, packet, &event, name);
}
