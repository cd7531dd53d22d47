/* tracks.h: processes of an export in order of display, their threads and call sites, with their
 * displayed names and numbers.
 *
 * A process without a rank that is no launcher is rank 0, as in the report. Process and thread ids
 * repeat across hosts and after exec; repeated ones get a number above all kernel numbers, so that
 * viewers do not merge them. Locked by the caller; everything lives until hk_tracks_free.
 */
#ifndef HK_TIMELINE_TRACKS_H
#define HK_TIMELINE_TRACKS_H

#include "chunk/codec/format.h"
#include "schema/wire.pb-c.h"
#include "timeline/call.h"
#include "timeline/nest.h"

struct hk_tracks;
struct hk_process_track;

struct hk_tracks_thread {
	struct hk_export_thread shown;
	struct hk_nest nest;
	bool introduced; /* the exporter has its description */
};

/* Makes the tracks of SNAPSHOT, which must outlive them. KEEP selects the processes that take part
 * (NULL: all). Returns 0 or -ENOMEM. */
int hk_tracks_new(const Hk__Snapshot *snapshot,
		  bool (*keep)(void *context, const Hk__Process *process), void *context,
		  struct hk_tracks **ret_tracks);
struct hk_tracks *hk_tracks_free(struct hk_tracks *tracks);

/* Return the processes, and their form for exporters, in order of display. */
size_t hk_tracks_count(const struct hk_tracks *tracks);
struct hk_process_track *hk_tracks_process(struct hk_tracks *tracks, size_t index);
const struct hk_export_process *const *hk_tracks_shown(const struct hk_tracks *tracks);

const Hk__Process *hk_process_track_process(const struct hk_process_track *track);
const struct hk_export_process *hk_process_track_shown(const struct hk_process_track *track);

/* Returns the process's index in the snapshot. */
size_t hk_process_track_ordinal(const struct hk_process_track *track);

/* Returns the thread DESCRIBED in a chunk, created if new, or NULL without memory. */
struct hk_tracks_thread *hk_process_track_thread(struct hk_tracks *tracks,
						 struct hk_process_track *track,
						 const struct hk_chunk_thread *described);

/* Returns the thread after PREVIOUS: the first after NULL, NULL at the end. */
struct hk_tracks_thread *hk_process_track_next_thread(struct hk_process_track *track,
						      struct hk_tracks_thread *previous);

/* Returns site ID, created if new from DEFINED (NULL: not defined by a chunk) or the snapshot.
 * Returns NULL without memory. */
const struct hk_export_site *hk_process_track_site(struct hk_process_track *track, uint32_t id,
						   const struct hk_chunk_site *defined);

#endif
