/* note_instants.h: the notes of a job as instants of its timeline, in order of their times. One
 * thread. */
#ifndef HK_CLI_TIMELINE_NOTE_INSTANTS_H
#define HK_CLI_TIMELINE_NOTE_INSTANTS_H

#include "schema/wire.pb-c.h"
#include "timeline/tracks.h"

struct hk_note_instants;

struct hk_note_instant {
	int64_t since_ns; /* since the job's start */
	struct hk_process_track *track;
	uint32_t tid;
	const struct hk_export_site *site; /* a mark with the note's text */
};

/* Finds the processes of SNAPSHOT's notes among TRACKS, which both outlive *RET_NOTES. Notes about
 * processes that are not there are left out. Returns 0 or -ENOMEM. */
int hk_note_instants_new(const Hk__Snapshot *snapshot, struct hk_tracks *tracks,
			 struct hk_note_instants **ret_notes);

/* Frees NOTES and returns NULL; accepts NULL. */
struct hk_note_instants *hk_note_instants_free(struct hk_note_instants *notes);

/* Returns the next note that is earlier than SINCE_NS, once, or NULL. */
const struct hk_note_instant *hk_note_instants_next(struct hk_note_instants *notes,
						    int64_t since_ns);

/* Returns NOTE's thread, created if it has no record so far; NULL without memory. */
struct hk_tracks_thread *hk_note_instant_thread(const struct hk_note_instant *note,
						struct hk_tracks *tracks);

#endif
