/* definitions.h: the SITES section: what the sites are that a chunk's records name.
 *
 * Collects the definitions of the sites that occur in lane sections, each once, as bytes; reads
 * them back. Used by writer.c and reader.c. Threading: locked by the caller. Lifetime: init, any
 * calls, fini; clear keeps the memory.
 */
#ifndef HK_CHUNK_CODEC_DEFINITIONS_H
#define HK_CHUNK_CODEC_DEFINITIONS_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/lanes.h"
#include "chunk/codec/names.h"

struct hk_definitions {
	struct hk_intern index; /* site ids that are in */
	uint8_t *bytes;
	size_t used, capacity;
};

/* Makes an empty section; -ENOMEM. */
int hk_definitions_init(struct hk_definitions *definitions);

/* Adds the definition of each site in `lanes` that is not in yet. Once the section is close to its
 * limit the strings of further ones stay empty. -ENOMEM. */
int hk_definitions_add(struct hk_definitions *definitions, const struct hk_lanes *lanes,
		       const struct hk_chunk_names *names);

/* Forgets all definitions. */
void hk_definitions_clear(struct hk_definitions *definitions);

/* Frees everything; a zeroed one is fine. */
void hk_definitions_fini(struct hk_definitions *definitions);

/* Reads the definition at *at, below `end`, and moves *at behind it; its strings point into the
 * bytes. -EBADMSG. */
int hk_definitions_read(const uint8_t **at, const uint8_t *end, struct hk_chunk_site *ret_site);

#endif
