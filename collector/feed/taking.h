/* taking.h: messages of a stream, taken in as the requests that they are.
 *
 * A message may come twice, from this root or from one before it; link/intake.h is made for that.
 * One may be missing that the stream has: reports of a node and chunks of a process have numbers,
 * which show that. What cannot be taken now must come again, and nothing behind it is taken
 * meanwhile. What can never be taken is counted and told, so that it does not stop the partition.
 * Programs that may write to the engine are trusted with room: no account bounds jobs and nodes.
 * One thread.
 */
#ifndef HK_COLLECTOR_FEED_TAKING_H
#define HK_COLLECTOR_FEED_TAKING_H

#include <stdint.h>

#include "collector/engine/source.h"
#include "collector/engine/subject.h"
#include "collector/feed/assembly.h"
#include "collector/feed/orphans.h"

struct hk_answers;
struct hk_collector;

struct hk_taking {
	const char *replay;	    /* key or name of the only job that is taken; NULL: all */
	struct hk_answers *answers; /* for leaves; NULL: they get none */
	struct hk_assemblies assemblies;
	struct hk_orphans orphans;
	unsigned partition;
	uint64_t begin; /* the stream is read behind this message */
	/* What HK_TAKING_SEARCH asks for. */
	char subject[HK_SUBJECT_BYTES];
	uint64_t behind, before;
	uint64_t dropped; /* messages */
};

#define HK_TAKING_SEARCH 1

/* Takes MESSAGE in. Returns 0; HK_TAKING_SEARCH if messages of `subject` are missing behind
 * `behind` and before `before`: MESSAGE must come again then, `searched`; or -errno if it must come
 * again. */
int hk_taking_take(struct hk_taking *taking, struct hk_collector *collector,
		   const struct hk_source_message *message, uint64_t now_ns);

/* The sequence number of the oldest message that waits for others, UINT64_MAX: none does. */
uint64_t hk_taking_oldest(const struct hk_taking *taking);

/* Drops what has waited since before LIMIT_NS. Chunks that others before them keep from being taken
 * are taken without those. */
void hk_taking_expire(struct hk_taking *taking, struct hk_collector *collector, uint64_t limit_ns);

void hk_taking_fini(struct hk_taking *taking);

#endif
