#include "cli/export/perfetto/perfetto_track.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <xxhash.h>

#define CLOCK_TEXT_BYTES 96

static int write_track(struct hk_perfetto_writer *writer, uint32_t sequence,
		       Hk__Perfetto__TrackDescriptor *track, uint64_t uuid)
{
	Hk__Perfetto__TracePacket packet = hk_perfetto_packet(sequence, writer->start_ns);

	track->has_uuid = 1;
	track->uuid = uuid;
	packet.track_descriptor = track;
	packet.has_timestamp_clock_id = 1;
	packet.timestamp_clock_id = HK_PERFETTO_CLOCK;
	return hk_perfetto_write(writer, &packet);
}

int hk_perfetto_write_root(struct hk_perfetto_writer *writer)
{
	Hk__Perfetto__TrackDescriptor root = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;

	root.has_process_ordering = 1;
	root.process_ordering =
	    HK__PERFETTO__TRACK_DESCRIPTOR__PROCESS_ORDERING__PROCESS_ORDERING_EXPLICIT;
	return write_track(writer, HK_PERFETTO_GLOBAL, &root, 0);
}

/* Writes the clock error of PROCESS to TEXT. */
static void clock_text(const struct hk_export_process *process, char text[CLOCK_TEXT_BYTES])
{
	if (process->clock_known) {
		snprintf(text, CLOCK_TEXT_BYTES, "clock: within %" PRIu64 " ns of the root's",
			 process->clock_error_ns);
	} else {
		snprintf(text, CLOCK_TEXT_BYTES, "clock: its node's own, error unknown");
	}
}

int hk_perfetto_write_process(struct hk_perfetto_writer *writer,
			      const struct hk_export_process *process, bool many_nodes)
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
	return write_track(writer, HK_PERFETTO_GLOBAL, &track, process->uuid);
}

static int write_defaults(struct hk_perfetto_writer *writer, const struct hk_export_thread *thread)
{
	Hk__Perfetto__TracePacket packet =
	    hk_perfetto_packet(HK_PERFETTO_GLOBAL + thread->sequence, writer->start_ns);
	Hk__Perfetto__TracePacketDefaults defaults = HK__PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Hk__Perfetto__TrackEventDefaults event = HK__PERFETTO__TRACK_EVENT_DEFAULTS__INIT;

	event.has_track_uuid = 1;
	event.track_uuid = thread->uuid;
	defaults.track_event_defaults = &event;
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = HK_PERFETTO_CLOCK;
	packet.trace_packet_defaults = &defaults;
	packet.has_first_packet_on_sequence = 1;
	packet.first_packet_on_sequence = 1;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = HK_PERFETTO_CLEARED;
	return hk_perfetto_write(writer, &packet);
}

int hk_perfetto_write_thread(struct hk_perfetto_writer *writer,
			     const struct hk_export_thread *thread)
{
	Hk__Perfetto__TrackDescriptor track = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Hk__Perfetto__ThreadDescriptor descriptor = HK__PERFETTO__THREAD_DESCRIPTOR__INIT;
	int rc = write_defaults(writer, thread);

	if (rc < 0) {
		return rc;
	}
	descriptor.has_pid = descriptor.has_tid = 1;
	descriptor.pid = (int32_t)thread->process->show_pid;
	descriptor.tid = (int32_t)thread->show_tid;
	descriptor.thread_name = (char *)thread->name;
	track.thread = &descriptor;
	track.name = (char *)thread->name;
	track.has_parent_uuid = 1;
	track.parent_uuid = thread->process->uuid;
	return write_track(writer, HK_PERFETTO_GLOBAL + thread->sequence, &track, thread->uuid);
}

uint64_t hk_perfetto_counter_uuid(const struct hk_export_process *process, const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), process->uuid);
}

int hk_perfetto_write_counter_track(struct hk_perfetto_writer *writer,
				    const struct hk_export_process *process, const char *name)
{
	Hk__Perfetto__TrackDescriptor track = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Hk__Perfetto__CounterDescriptor counter = HK__PERFETTO__COUNTER_DESCRIPTOR__INIT;

	track.counter = &counter;
	track.name = (char *)name;
	track.has_parent_uuid = 1;
	track.parent_uuid = process->uuid;
	return write_track(writer, HK_PERFETTO_GLOBAL, &track,
			   hk_perfetto_counter_uuid(process, name));
}

#define MEMORY_SEED 0x6d656d6f7279ull /* a program's counter may have the same name */

uint64_t hk_perfetto_memory_uuid(const struct hk_export_process *process, const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), process->uuid ^ MEMORY_SEED);
}

int hk_perfetto_write_memory_track(struct hk_perfetto_writer *writer,
				   const struct hk_export_process *process, const char *name,
				   uint64_t width_ns)
{
	Hk__Perfetto__TrackDescriptor track = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Hk__Perfetto__CounterDescriptor counter = HK__PERFETTO__COUNTER_DESCRIPTOR__INIT;
	char description[96];

	snprintf(description, sizeof(description),
		 "The most that was live in each %" PRIu64 " ns; the highest is the exact peak.",
		 width_ns);
	counter.has_unit = 1;
	counter.unit = HK__PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES;
	counter.y_axis_share_key = "hooktrace memory";
	track.counter = &counter;
	track.name = (char *)name;
	track.description = description;
	track.has_parent_uuid = 1;
	track.parent_uuid = process->uuid;
	return write_track(writer, HK_PERFETTO_GLOBAL, &track,
			   hk_perfetto_memory_uuid(process, name));
}

int hk_perfetto_write_stream_track(struct hk_perfetto_writer *writer,
				   const struct hk_export_process *process, uint64_t uuid,
				   const char *name, const char *description)
{
	Hk__Perfetto__TrackDescriptor track = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;

	track.name = (char *)name;
	track.description = (char *)description;
	track.has_parent_uuid = 1;
	track.parent_uuid = process->uuid;
	return write_track(writer, HK_PERFETTO_GLOBAL, &track, uuid);
}

int hk_perfetto_write_flow_track(struct hk_perfetto_writer *writer, uint64_t *ret_uuid)
{
	Hk__Perfetto__TrackDescriptor track = HK__PERFETTO__TRACK_DESCRIPTOR__INIT;

	*ret_uuid = XXH3_64bits("flows", 5);
	track.name = "arrows";
	track.description =
	    "From a send to the call that received its message or waited for it; along a "
	    "collective from each rank to the next one to enter; between calls that enqueue a "
	    "device's sends and receives from the earlier to the later one.";
	return write_track(writer, HK_PERFETTO_GLOBAL, &track, *ret_uuid);
}
