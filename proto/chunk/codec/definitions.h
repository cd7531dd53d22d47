/* definitions.h: the SITES section: the definitions of the sites that a chunk's records name.
 * Collects the definition of each site that occurs in lane sections once, as bytes; reads them
 * back. Used by writer.c and reader.c. Threading: locked by the caller. Lifetime: init, any calls,
 * fini; clear keeps the memory. */
#ifndef HK_CHUNK_CODEC_DEFINITIONS_H
#define HK_CHUNK_CODEC_DEFINITIONS_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/lanes.h"
#include "chunk/codec/names.h"

struct hk_definitions {
	struct hk_intern index; /* ids of the sites in the section */
	uint8_t *bytes;
	size_t used, capacity;
};

/* Makes an empty section. Returns 0 or -ENOMEM. */
int hk_definitions_init(struct hk_definitions *definitions);

/* Adds the definition of each site in `lanes` that is missing. Close to the section's limit,
 * strings of further sites stay empty. Returns 0 or -ENOMEM. */
int hk_definitions_add(struct hk_definitions *definitions, const struct hk_lanes *lanes,
		       const struct hk_chunk_names *names);

/* Forgets all definitions. */
void hk_definitions_clear(struct hk_definitions *definitions);

/* Frees everything; accepts a zeroed one. */
void hk_definitions_fini(struct hk_definitions *definitions);

/* Reads the definition at *at, below `end`, and moves *at behind it; its strings point into the
 * bytes. Returns 0 or -EBADMSG. */
int hk_definitions_read(const uint8_t **at, const uint8_t *end, struct hk_chunk_site *ret_site);

#endif
