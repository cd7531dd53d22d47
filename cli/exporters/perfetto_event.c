#include "exporters/perfetto_event.h"

#include <errno.h>
#include <string.h>

#include "exporters/details.h"
#include "exporters/perfetto_track.h"

#define ANNOTATIONS (HK_SLICE_WORDS + HK_DETAILS_ANNOTATIONS + 2) /* library, unwound besides */

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

/* Library, named values, arguments and unwound mark of SLICE; number of annotations. */
static size_t annotate(struct hk_perfetto_sequence *sequence, const struct hk_slice *slice,
		       uint64_t library, Hk__Perfetto__DebugAnnotation *annotations,
		       struct hk_perfetto_novelty *novelty, struct hk_details *details)
{
	size_t count = 0;

	start_annotation(&annotations[count], HK_PERFETTO_NAME_LIBRARY);
	annotations[count].has_string_value_iid = 1;
	annotations[count++].string_value_iid = library;
	for (unsigned int i = 0; i < slice->word_count; i++) {
		uint8_t key = slice->site->keys[i];

		if (hk_exporter_value_form(key) != HK_VALUE_UNNAMED) {
			annotate_word(
			    start_annotation(&annotations[count++],
					     hk_perfetto_intern_key(sequence, key, novelty)),
			    key, slice->words[i]);
		}
	}
	count += hk_details_annotate(slice, details, &annotations[count]);
	if (slice->unwound || slice->failed) { /* never both */
		start_annotation(&annotations[count], slice->unwound ? HK_PERFETTO_NAME_UNWOUND
								     : HK_PERFETTO_NAME_FAILED);
		annotations[count].has_bool_value = 1;
		annotations[count++].bool_value = 1;
	}
	return count;
}

int hk_perfetto_write_call(struct hk_perfetto_writer *writer, const struct hk_export_thread *thread,
			   struct hk_perfetto_sequence *sequence, const struct hk_slice *slice,
			   Hk__Perfetto__TrackEvent__Type type)
{
	Hk__Perfetto__TracePacket packet =
	    hk_perfetto_packet(HK_PERFETTO_GLOBAL + thread->sequence, slice->start_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;
	Hk__Perfetto__DebugAnnotation annotations[ANNOTATIONS];
	Hk__Perfetto__DebugAnnotation *annotation_list[ANNOTATIONS];
	struct hk_perfetto_novelty novelty = HK_PERFETTO_NOVELTY;
	struct hk_details details;
	uint64_t id = hk_perfetto_intern_site(sequence, slice->site, &novelty);

	if (!id) {
		return -ENOMEM;
	}
	event.has_type = 1;
	event.type = type;
	event.has_name_iid = 1;
	event.name_iid = id;
	event.n_category_iids = 1;
	event.category_iids = &id;
	event.n_debug_annotations = annotate(sequence, slice, id, annotations, &novelty, &details);
	event.debug_annotations = annotation_list;
	for (size_t i = 0; i < event.n_debug_annotations; i++) {
		annotation_list[i] = &annotations[i];
	}
	packet.track_event = &event;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = HK_PERFETTO_NEEDS_STATE;
	packet.interned_data = hk_perfetto_novelty_data(&novelty);
	return hk_perfetto_write(writer, &packet);
}

int hk_perfetto_write_end(struct hk_perfetto_writer *writer, const struct hk_export_thread *thread,
			  const struct hk_slice *slice)
{
	Hk__Perfetto__TracePacket packet =
	    hk_perfetto_packet(HK_PERFETTO_GLOBAL + thread->sequence, slice->end_ns);
	Hk__Perfetto__TrackEvent event = HK__PERFETTO__TRACK_EVENT__INIT;

	event.has_type = 1;
	event.type = HK__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	packet.track_event = &event;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = HK_PERFETTO_NEEDS_STATE;
	return hk_perfetto_write(writer, &packet);
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
	packet.timestamp_clock_id = HK_PERFETTO_CLOCK;
	return hk_perfetto_write(writer, &packet);
}
