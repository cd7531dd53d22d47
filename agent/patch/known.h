/* known.h: the patcher's data of each object between scans.
 *
 * An entry and an object are the same if base, dynamic section and path agree. The next scan drops
 * entries of unloaded objects with all their data. Used by one thread at a time.
 */
#ifndef HK_AGENT_PATCH_KNOWN_H
#define HK_AGENT_PATCH_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/object/object.h"
#include "ring/segment.h"

struct hk_known {
	uintptr_t base;
	const void *dynamic;
	struct hk_span span;
	const char *path; /* lives as long as the process */
	uint32_t slots_found;
	uint32_t slots_patched;
	uint32_t slots_refused[HK_REFUSALS_MAX];
	uint64_t
	    open_since_ns; /* scan that first saw it relocated with writable RELRO pages; 0: none */
	bool seen;	   /* by the scan under way */
	bool skipped;	   /* no caller of interest: the agent, the loader, libc */
	bool done;	   /* scanned when fully relocated */
	bool lazy;	   /* has slots not yet resolved */
	bool mapped;	   /* its code is known to stack/code.h */
	bool startup;	   /* was there before the agent: never unloaded */
};

struct hk_knowns {
	uint32_t missed[HK_REFUSALS_MAX]; /* slots of gone objects, never seen for want of room */
	struct hk_known *entries;
	size_t count;
	size_t room;
};

/* Entry of OBJECT, or NULL: not known. PROGRAM and HINT as below. */
struct hk_known *hk_known_find(const struct hk_knowns *knowns, const struct hk_object *object,
			       const char *program, size_t hint);

/* Returns the entry of OBJECT, which it adds if it is new, with the path PROGRAM if the loader has
 * none. HINT is its probable place. Returns NULL without memory. */
struct hk_known *hk_known_get(struct hk_knowns *knowns, const struct hk_object *object,
			      const char *program, size_t hint);

/* Drops the entries that were not seen since all were marked unseen. Calls GONE with the addresses
 * of each before. */
void hk_known_sweep(struct hk_knowns *knowns, void (*gone)(struct hk_span span));

/* Returns whether the loader has finished OBJECT, whose entry is KNOWN. It makes RELRO pages
 * read-only as its last act on an object: if the agent did so earlier, the loader's own writes
 * would crash. */
bool hk_known_settled(struct hk_known *known, const struct hk_object *object);

/* Forgets what is known of slots, so that the next scan visits all objects. */
void hk_known_forget_slots(struct hk_knowns *knowns);

/* Sums objects and slots into their fields of *coverage. */
void hk_known_count(const struct hk_knowns *knowns, struct hk_coverage *coverage);

#endif
