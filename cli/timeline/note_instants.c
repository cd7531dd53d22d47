#include "cli/timeline/note_instants.h"

#include <errno.h>
#include <stdlib.h>

#include "chunk/codec/format.h"
#include "hooks/hook.h"
#include "report/clock/job_clock.h"
#include "report/model/role.h"

/* Threads of records have small numbers, counted from 1. */
#define THREAD_UID (~(uint64_t)0 - 1)

struct hk_note_instants {
	struct hk_note_instant *list;
	size_t count, next;
};

static struct hk_process_track *track_of(struct hk_tracks *tracks, const Hk__Note *note)
{
	for (size_t i = 0; i < hk_tracks_count(tracks); i++) {
		struct hk_process_track *track = hk_tracks_process(tracks, i);
		const Hk__Process *process = hk_process_track_process(track);
		if (process->pid == note->pid && hk_report_rank_of(process) == note->rank) {
			return track;
		}
	}
	return NULL;
}

static int64_t since_ns(const struct hk_report_clock *clock, uint64_t monotonic_ns)
{
	return clock->since_ns +
	       ((int64_t)monotonic_ns - hk_report_clock_node_ns(clock, clock->ticks));
}

/* Sites of notes have the last numbers, which no process reaches. */
static int add(struct hk_note_instants *notes, const Hk__Note *note, struct hk_tracks *tracks,
	       const struct hk_report_clock *clocks)
{
	struct hk_process_track *track = note->monotonic_ns ? track_of(tracks, note) : NULL;
	struct hk_chunk_site mark = {
	    .id = HK_CHUNK_SITES_MAX - 1 - (uint32_t)notes->count,
	    .meaning = HK_MEANING_MARK,
	    .function = note->text,
	    .library = "",
	    .domain = "precision",
	};

	if (!track) {
		return 0;
	}
	struct hk_note_instant *one = &notes->list[notes->count++];
	one->since_ns = since_ns(&clocks[hk_process_track_ordinal(track)], note->monotonic_ns);
	one->track = track;
	one->tid = note->tid;
	one->site = hk_process_track_site(track, mark.id, &mark);
	return one->site ? 0 : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
	const struct hk_note_instant *left = a, *right = b;

	return (left->since_ns > right->since_ns) - (left->since_ns < right->since_ns);
}

int hk_note_instants_new(const Hk__Snapshot *snapshot, struct hk_tracks *tracks,
			 struct hk_note_instants **ret_notes)
{
	struct hk_report_clock *clocks = NULL;
	struct hk_note_instants *notes = calloc(1, sizeof(*notes));
	int r = notes ? hk_report_clock_all(snapshot, &clocks) : -ENOMEM;

	if (r == 0) {
		notes->list = calloc(snapshot->n_notes + 1, sizeof(*notes->list));
		r = notes->list ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < snapshot->n_notes; i++) {
		r = add(notes, snapshot->notes[i], tracks, clocks);
	}
	free(clocks);
	if (r < 0) {
		hk_note_instants_free(notes);
		return r;
	}
	qsort(notes->list, notes->count, sizeof(*notes->list), compare);
	*ret_notes = notes;
	return 0;
}

struct hk_note_instants *hk_note_instants_free(struct hk_note_instants *notes)
{
	free(notes ? notes->list : NULL);
	free(notes);
	return NULL;
}

const struct hk_note_instant *hk_note_instants_next(struct hk_note_instants *notes,
						    int64_t since_ns)
{
	bool more = notes->next < notes->count && notes->list[notes->next].since_ns < since_ns;

	return more ? &notes->list[notes->next++] : NULL;
}

struct hk_tracks_thread *hk_note_instant_thread(const struct hk_note_instant *note,
						struct hk_tracks *tracks)
{
	struct hk_chunk_thread described = {.uid = THREAD_UID, .tid = note->tid};
	struct hk_tracks_thread *thread = NULL;

	while ((thread = hk_process_track_next_thread(note->track, thread))) {
		if (thread->shown.tid == note->tid) {
			return thread;
		}
	}
	return hk_process_track_thread(tracks, note->track, &described);
}
