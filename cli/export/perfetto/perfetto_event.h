/* perfetto_event.h: calls, marks and counters of a thread as Perfetto's track events.
 *
 * A call is a BEGIN and an END on its thread's track. All return 0, -ENOMEM or -errno of the write.
 */
#ifndef HK_CLI_EXPORT_PERFETTO_PERFETTO_EVENT_H
#define HK_CLI_EXPORT_PERFETTO_PERFETTO_EVENT_H

#include "cli/export/curve.h"
#include "cli/export/exporter.h"
#include "cli/export/perfetto/perfetto_intern.h"
#include "cli/export/perfetto/perfetto_packet.h"

/* Writes an event of TYPE at SLICE's start, with its name and annotations, on TRACK or (0) THREAD's
 * own. */
int hk_perfetto_write_call(struct hk_perfetto_writer *writer, const struct hk_export_thread *thread,
			   struct hk_perfetto_sequence *sequence, const struct hk_slice *slice,
			   Hk__Perfetto__TrackEvent__Type type, uint64_t track);

/* Ends the innermost call that is open on TRACK or (0) THREAD's own, with the messages that arrived
 * in it. Viewers draw an arrow from the earlier end. A message that was sent after its receive
 * began ends in an instant within the receive, at its end. */
int hk_perfetto_write_end(struct hk_perfetto_writer *writer, const struct hk_export_thread *thread,
			  const struct hk_slice *slice, uint64_t track);

/* Writes a point of a curve of memory. */
int hk_perfetto_write_memory(struct hk_perfetto_writer *writer, const struct hk_curve_point *point);

/* Writes an instant with the statistics in FLOWS, on a track of its own. */
int hk_perfetto_write_flows(struct hk_perfetto_writer *writer, const struct hk_export_flows *flows);

/* Writes the value of the program's counter in SLICE. */
int hk_perfetto_write_counter(struct hk_perfetto_writer *writer,
			      const struct hk_export_thread *thread, const struct hk_slice *slice);

/* Writes an instant across PROCESS that says that records are missing. */
int hk_perfetto_write_gap(struct hk_perfetto_writer *writer,
			  const struct hk_export_process *process, uint64_t time_ns,
			  const struct hk_export_gap *gap);

#endif
