/* assembly.h: requests that came in several messages, put together again.
 *
 * A sender that begins again gives all parts another attempt, so that parts of two attempts never
 * mix. One thread.
 */
#ifndef HK_COLLECTOR_FEED_ASSEMBLY_H
#define HK_COLLECTOR_FEED_ASSEMBLY_H

#include <stddef.h>
#include <stdint.h>

#include "collector/engine/source.h"

struct hk_assembly;

/* Requests of which some parts have come. */
struct hk_assemblies {
	struct hk_assembly *all; /* by subject and attempt */
	size_t bytes;		 /* of their parts */
};

/* Adds MESSAGE, a part, to its request. Returns 1 with the whole in *RET_BYTES, which stays until
 * hk_assembly_done, and is given again if a part comes again; 0 if parts are missing;
 * -EBADMSG if it does not continue what came before, or if all have too many bytes; or -ENOMEM. */
int hk_assembly_add(struct hk_assemblies *assemblies, const struct hk_source_message *message,
		    uint64_t now_ns, const void **ret_bytes, size_t *ret_size);
/* The request of MESSAGE was taken, or is dropped. */
void hk_assembly_done(struct hk_assemblies *assemblies, const struct hk_source_message *message);

/* The sequence number of the first part of MESSAGE's request, or its own. */
uint64_t hk_assembly_first(const struct hk_assemblies *assemblies,
			   const struct hk_source_message *message);

/* The sequence number of the oldest part that waits, UINT64_MAX: none does. */
uint64_t hk_assembly_oldest(const struct hk_assemblies *assemblies);

/* Forgets requests whose first part came before LIMIT_NS and which are not whole. Returns how many.
 */
unsigned hk_assembly_expire(struct hk_assemblies *assemblies, uint64_t limit_ns);

void hk_assembly_free_all(struct hk_assemblies *assemblies);

#endif
