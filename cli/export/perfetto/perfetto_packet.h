/* perfetto_packet.h: writes a Perfetto trace packet by packet, so that memory does not grow with
 * it.
 *
 * Timestamps are absolute nanoseconds, declared as BOOTTIME, Perfetto's default trace clock, and
 * tied to REALTIME by one snapshot at the start. Sequence HK_PERFETTO_GLOBAL has descriptors and
 * marks; every thread has one of its own, so that names are interned and state is kept per thread
 * and ranks never share a sequence. One thread.
 */
#ifndef HK_CLI_EXPORT_PERFETTO_PERFETTO_PACKET_H
#define HK_CLI_EXPORT_PERFETTO_PERFETTO_PACKET_H

#include <stdint.h>
#include <stdio.h>

#include "cli/export/callers.h"
#include "schema/perfetto.pb-c.h"

#define HK_PERFETTO_CLOCK HK__PERFETTO__CLOCK_SNAPSHOT__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME
#define HK_PERFETTO_CLEARED \
	HK__PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED
#define HK_PERFETTO_NEEDS_STATE \
	HK__PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE
#define HK_PERFETTO_GLOBAL 1u /* threads' sequences follow */

struct hk_perfetto_writer {
	FILE *output;	   /* the caller's */
	uint64_t start_ns; /* start of the trace: no packet is earlier */
	struct hk_callers *callers;
	uint8_t *buffer;
	size_t buffer_size;
};

/* Frees what WRITER holds. */
void hk_perfetto_writer_fini(struct hk_perfetto_writer *writer);

/* Makes a packet of SEQUENCE at TIME, otherwise empty. */
Hk__Perfetto__TracePacket hk_perfetto_packet(uint32_t sequence, uint64_t time_ns);

/* Writes PACKET. Returns 0, -ENOMEM, or -errno of the write. */
int hk_perfetto_write(struct hk_perfetto_writer *writer, const Hk__Perfetto__TracePacket *packet);

/* Does the same for a PACKET of at most MOST bytes. Its size need not be computed first, which
 * takes as long as packing. */
int hk_perfetto_write_within(struct hk_perfetto_writer *writer,
			     const Hk__Perfetto__TracePacket *packet, size_t most);

/* Writes the first packet of the file: trace time is Unix time. */
int hk_perfetto_write_clocks(struct hk_perfetto_writer *writer);

#endif
