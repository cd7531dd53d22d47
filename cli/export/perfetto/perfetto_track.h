/* perfetto_track.h: describes the tracks of a Perfetto trace: processes in order of ranks, their
 * threads and counters.
 *
 * Descriptors carry the start of the trace as their time: no event is earlier. One thread; all
 * return 0, -ENOMEM or -errno of the write.
 */
#ifndef HK_CLI_EXPORT_PERFETTO_PERFETTO_TRACK_H
#define HK_CLI_EXPORT_PERFETTO_PERFETTO_TRACK_H

#include "cli/export/exporter.h"
#include "cli/export/perfetto/perfetto_packet.h"

/* Writes track 0, which stands for the whole trace and says that processes have an order of their
 * own. */
int hk_perfetto_write_root(struct hk_perfetto_writer *writer);

/* Writes the track of PROCESS. MANY_NODES: include the clock error. */
int hk_perfetto_write_process(struct hk_perfetto_writer *writer,
			      const struct hk_export_process *process, bool many_nodes);

/* Writes the first packet of THREAD's sequence, with the defaults of all its events, and its
 * track. */
int hk_perfetto_write_thread(struct hk_perfetto_writer *writer,
			     const struct hk_export_thread *thread);

/* Writes a track of PROCESS for the counter that the program calls NAME. */
int hk_perfetto_write_counter_track(struct hk_perfetto_writer *writer,
				    const struct hk_export_process *process, const char *name);

/* Writes a track of PROCESS for live bytes of memory, NAME, in steps of WIDTH_NS. All such tracks
 * have one scale. */
int hk_perfetto_write_memory_track(struct hk_perfetto_writer *writer,
				   const struct hk_export_process *process, const char *name,
				   uint64_t width_ns);
uint64_t hk_perfetto_memory_uuid(const struct hk_export_process *process, const char *name);

/* Writes a track of PROCESS for a stream. */
int hk_perfetto_write_stream_track(struct hk_perfetto_writer *writer,
				   const struct hk_export_process *process, uint64_t uuid,
				   const char *name, const char *description);

/* Returns the track of counter NAME: one per process, for all threads. */
uint64_t hk_perfetto_counter_uuid(const struct hk_export_process *process, const char *name);

/* Writes a track with a description of the arrows of the trace, and sets *RET_UUID to its uuid. */
int hk_perfetto_write_flow_track(struct hk_perfetto_writer *writer, uint64_t *ret_uuid);

#endif
