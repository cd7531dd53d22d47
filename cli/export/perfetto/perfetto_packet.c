#include "cli/export/perfetto/perfetto_packet.h"

#include <errno.h>
#include <stdlib.h>

#define REALTIME HK__PERFETTO__CLOCK_SNAPSHOT__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME
#define TRACE_PACKET_TAG 0x0a /* field 1 of Trace, length-delimited */

void hk_perfetto_writer_fini(struct hk_perfetto_writer *writer)
{
	free(writer->buffer);
	writer->buffer = NULL;
	writer->buffer_size = 0;
}

Hk__Perfetto__TracePacket hk_perfetto_packet(uint32_t sequence, uint64_t time_ns)
{
	Hk__Perfetto__TracePacket packet = HK__PERFETTO__TRACE_PACKET__INIT;

	packet.has_timestamp = 1;
	packet.timestamp = time_ns;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = sequence;
	return packet;
}

int hk_perfetto_write_within(struct hk_perfetto_writer *writer,
			     const Hk__Perfetto__TracePacket *packet, size_t most)
{
	uint8_t head[11] = {TRACE_PACKET_TAG};
	size_t head_size = 1;

	if (most > writer->buffer_size) {
		uint8_t *buffer = realloc(writer->buffer, most * 2);

		if (!buffer) {
			return -ENOMEM;
		}
		writer->buffer = buffer;
		writer->buffer_size = most * 2;
	}
	size_t size = hk__perfetto__trace_packet__pack(packet, writer->buffer);
	if (size > most) {
		abort(); /* a buffer overflow has happened */
	}
	for (size_t rest = size; head_size == 1 || rest; rest >>= 7) {
		head[head_size++] = (uint8_t)((rest & 0x7f) | (rest >> 7 ? 0x80 : 0));
	}
	fwrite_unlocked(head, 1, head_size, writer->output);
	fwrite_unlocked(writer->buffer, 1, size, writer->output);
	if (!ferror_unlocked(writer->output)) {
		return 0;
	}
	return errno > 0 ? -errno : -EIO; /* errno as the failed write left it */
}

int hk_perfetto_write(struct hk_perfetto_writer *writer, const Hk__Perfetto__TracePacket *packet)
{
	return hk_perfetto_write_within(writer, packet,
					hk__perfetto__trace_packet__get_packed_size(packet));
}

int hk_perfetto_write_clocks(struct hk_perfetto_writer *writer)
{
	Hk__Perfetto__TracePacket packet = hk_perfetto_packet(HK_PERFETTO_GLOBAL, writer->start_ns);
	Hk__Perfetto__ClockSnapshot snapshot = HK__PERFETTO__CLOCK_SNAPSHOT__INIT;
	Hk__Perfetto__ClockSnapshot__Clock boottime = HK__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Hk__Perfetto__ClockSnapshot__Clock realtime = HK__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Hk__Perfetto__ClockSnapshot__Clock *clocks[] = {&boottime, &realtime};

	boottime.has_clock_id = realtime.has_clock_id = 1;
	boottime.has_timestamp = realtime.has_timestamp = 1;
	boottime.clock_id = HK_PERFETTO_CLOCK;
	realtime.clock_id = REALTIME;
	boottime.timestamp = realtime.timestamp = writer->start_ns;
	snapshot.n_clocks = 2;
	snapshot.clocks = clocks;
	snapshot.has_primary_trace_clock = 1;
	snapshot.primary_trace_clock = HK_PERFETTO_CLOCK;
	packet.clock_snapshot = &snapshot;
	packet.has_timestamp_clock_id = 1;
	packet.timestamp_clock_id = HK_PERFETTO_CLOCK;
	packet.has_first_packet_on_sequence = 1;
	packet.first_packet_on_sequence = 1;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = HK_PERFETTO_CLEARED;
	return hk_perfetto_write(writer, &packet);
}
