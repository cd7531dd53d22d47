/* catalog.h: the site definitions met in a file of chunks, each kept once.
 *
 * Chunks define their sites again and again; the catalog copies a definition the first time.
 * Bounded: what a file defines beyond 64 MiB is not kept. Used by cursor.c. Threading: locked by
 * the caller. Lifetime: init, any calls, fini.
 */
#ifndef HK_CHUNK_READ_CATALOG_H
#define HK_CHUNK_READ_CATALOG_H

#include "chunk/codec/intern.h"
#include "chunk/read/reader.h"

struct hk_catalog {
	struct hk_intern index; /* site id to place in `sites` */
	struct hk_chunk_site **sites;
	uint32_t capacity;
	size_t bytes;
};

/* Makes an empty catalog; -ENOMEM. */
int hk_catalog_init(struct hk_catalog *catalog);

/* Takes in the definitions of the reader's open chunk. -EBADMSG: damaged; -ENOMEM. */
int hk_catalog_take(struct hk_catalog *catalog, struct hk_chunk_reader *reader);

/* Definition of a site, NULL if there is none; lasts until fini. */
const struct hk_chunk_site *hk_catalog_find(const struct hk_catalog *catalog, uint32_t id);

/* Frees everything; a zeroed one is fine. */
void hk_catalog_fini(struct hk_catalog *catalog);

#endif
