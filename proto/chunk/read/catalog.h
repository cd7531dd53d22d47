/* catalog.h: the site definitions in a file of chunks, each kept once. Chunks repeat the
 * definitions of their sites; the catalog copies a definition the first time. Bounded: definitions
 * beyond 64 MiB are not kept. Used by cursor.c. Threading: locked by the caller. Lifetime: init,
 * any calls, fini. */
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

/* Makes an empty catalog. Returns 0 or -ENOMEM. */
int hk_catalog_init(struct hk_catalog *catalog);

/* Takes in the definitions of the reader's open chunk. Returns 0, -EBADMSG if they are damaged, or
 * -ENOMEM. */
int hk_catalog_take(struct hk_catalog *catalog, struct hk_chunk_reader *reader);

/* Definition of a site, NULL if there is no such; lasts until fini. */
const struct hk_chunk_site *hk_catalog_find(const struct hk_catalog *catalog, uint32_t id);

/* Frees everything; accepts a zeroed one. */
void hk_catalog_fini(struct hk_catalog *catalog);

#endif
