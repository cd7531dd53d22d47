/* tracks.h: who appears in an export: processes in order of display, their threads and call sites,
 * each with the names and numbers it is shown by.
 *
 * A process without a rank that is no launcher is rank 0, as in the report. Process and thread ids
 * repeat across hosts and after exec; what a viewer would fuse gets a number above any the kernel
 * gives. Locked by the caller; everything lives until hk_cast_free.
 */
#ifndef HK_CLI_TIMELINE_TRACKS_H
#define HK_CLI_TIMELINE_TRACKS_H

#include "chunk/codec/format.h"
#include "cli/export/exporter.h"
#include "cli/timeline/nest.h"
#include "schema/wire.pb-c.h"

struct hk_cast;
struct hk_actor;

struct hk_cast_thread {
	struct hk_export_thread shown;
	struct hk_nest nest;
	bool introduced; /* the exporter knows it */
};

/* Makes the cast of SNAPSHOT, which must outlive it; KEEP says which processes take part (NULL:
 * all). -ENOMEM. */
int hk_cast_new(const Hk__Snapshot *snapshot,
		bool (*keep)(void *context, const Hk__Process *process), void *context,
		struct hk_cast **ret_cast);
struct hk_cast *hk_cast_free(struct hk_cast *cast);

/* Actors, and as the exporters see them: both in order of display. */
size_t hk_cast_count(const struct hk_cast *cast);
struct hk_actor *hk_cast_actor(struct hk_cast *cast, size_t index);
const struct hk_export_process *const *hk_cast_shown(const struct hk_cast *cast);

const Hk__Process *hk_actor_process(const struct hk_actor *actor);
const struct hk_export_process *hk_actor_shown(const struct hk_actor *actor);

/* Its place in the snapshot. */
size_t hk_actor_ordinal(const struct hk_actor *actor);

/* The thread that DESCRIBED (from a chunk) tells about, made when new; NULL: out of memory. */
struct hk_cast_thread *hk_actor_thread(struct hk_cast *cast, struct hk_actor *actor,
				       const struct hk_chunk_thread *described);

/* Iterates all threads: the first after NULL; NULL at the end. */
struct hk_cast_thread *hk_actor_next_thread(struct hk_actor *actor,
					    struct hk_cast_thread *previous);

/* Site ID, made when new from DEFINED (NULL: not defined by a chunk) or the snapshot; NULL: out of
 * memory. */
const struct hk_export_site *hk_actor_site(struct hk_actor *actor, uint32_t id,
					   const struct hk_chunk_site *defined);

#endif
