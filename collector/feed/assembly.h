/* assembly.h: requests that came in several messages, put together again. One thread. */
#ifndef HK_COLLECTOR_FEED_ASSEMBLY_H
#define HK_COLLECTOR_FEED_ASSEMBLY_H

#include <stddef.h>
#include <stdint.h>

#include "collector/engine/source.h"

struct hk_assembly;

/* Requests of which some parts have come. */
struct hk_assemblies {
	struct hk_assembly *all; /* by subject */
};

/* Adds MESSAGE, a part, to its request. Returns 1 with the whole in *RET_BYTES, which the caller
 * frees; 0 if parts are missing; -EBADMSG if it does not continue what came before, which is then
 * forgotten, or -ENOMEM. */
int hk_assembly_add(struct hk_assemblies *assemblies, const struct hk_source_message *message,
		    uint64_t now_ns, uint8_t **ret_bytes, size_t *ret_size);

/* The sequence number of the oldest part that waits for others, UINT64_MAX: none does. */
uint64_t hk_assembly_oldest(const struct hk_assemblies *assemblies);

/* Forgets requests whose last part came before LIMIT_NS. Returns how many. */
unsigned hk_assembly_expire(struct hk_assemblies *assemblies, uint64_t limit_ns);

void hk_assembly_free_all(struct hk_assemblies *assemblies);

#endif
