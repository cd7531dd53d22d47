/* signatures.h: the SIGNATURES section: names and types of the arguments in a chunk's records.
 * Holds the signature of each site that has a record with more words than keys, each once. Used by
 * writer.c and reader.c. Threading: locked by the caller. Lifetime: init, any calls, fini; clear
 * keeps the memory. */
#ifndef HK_CHUNK_CODEC_SIGNATURES_H
#define HK_CHUNK_CODEC_SIGNATURES_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/lanes.h"
#include "chunk/codec/names.h"

struct hk_signatures {
	struct hk_intern index; /* ids of the sites in the section */
	struct hk_column column;
};

/* Makes an empty section. Returns 0 or -ENOMEM. */
int hk_signatures_init(struct hk_signatures *signatures);

/* Adds the missing signatures that the records in `lanes` need, up to the section's limit. Returns
 * 0 or -ENOMEM. */
int hk_signatures_add(struct hk_signatures *signatures, const struct hk_lanes *lanes,
		      const struct hk_chunk_names *names);

/* Forgets all signatures. */
void hk_signatures_clear(struct hk_signatures *signatures);

/* Frees everything; accepts a zeroed one. */
void hk_signatures_fini(struct hk_signatures *signatures);

/* Reads the signature at *at, below `end`, and moves *at behind it; the text points into the bytes.
 * Returns 0 or -EBADMSG. */
int hk_signatures_read(const uint8_t **at, const uint8_t *end, uint32_t *ret_site,
		       const char **ret_text);

#endif
