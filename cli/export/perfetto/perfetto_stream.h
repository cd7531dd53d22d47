/* perfetto_stream.h: tracks of devices' streams in a Perfetto trace. A call that names a stream
 * also appears as an instant on that stream's track, at the time of the host's call, not of the
 * device's work. Activities are drawn only if a program reported them (hk_activity). One thread;
 * functions return 0, -ENOMEM or -errno of the write. */
#ifndef HK_CLI_EXPORT_PERFETTO_PERFETTO_STREAM_H
#define HK_CLI_EXPORT_PERFETTO_PERFETTO_STREAM_H

#include "cli/export/exporter.h"
#include "cli/export/perfetto/perfetto_intern.h"
#include "cli/export/perfetto/perfetto_packet.h"

struct hk_perfetto_stream;

/* The tracks that have been described; NULL at first. */
struct hk_perfetto_streams {
	struct hk_perfetto_stream *list;
};

/* Frees what STREAMS holds. */
void hk_perfetto_streams_fini(struct hk_perfetto_streams *streams);

/* Writes SLICE, a call of THREAD; writes nothing if it names no stream. */
int hk_perfetto_write_enqueue(struct hk_perfetto_writer *writer,
			      struct hk_perfetto_streams *streams,
			      const struct hk_export_thread *thread,
			      struct hk_perfetto_sequence *sequence, const struct hk_slice *slice);

/* Writes the activity in SLICE. */
int hk_perfetto_write_activity(struct hk_perfetto_writer *writer,
			       struct hk_perfetto_streams *streams,
			       const struct hk_export_thread *thread,
			       struct hk_perfetto_sequence *sequence, const struct hk_slice *slice);

#endif
