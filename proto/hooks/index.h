/* index.h: finds the hooks that may match a symbol's name. A hash table over the symbols without
 * wildcards, by the hash that DT_GNU_HASH tables use, behind two filters, and a list of the symbols
 * with wildcards. It holds numbers, no addresses: the index of the shipped hooks is made at build
 * time and costs a process nothing at its start. Read-only once built, any thread. */
#ifndef HK_HOOKS_INDEX_H
#define HK_HOOKS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_INDEX_PAIRS 65536u  /* bits for a symbol's first two bytes */
#define HK_INDEX_HASHES 65536u /* bits for 16 bits of a symbol's hash */

struct hk_index {
	const uint8_t *pairs;	 /* HK_INDEX_PAIRS bits: the first two bytes of all symbols */
	const uint8_t *filter;	 /* HK_INDEX_HASHES bits: bits 1 to 16 of their hashes */
	const uint32_t *hashes;	 /* of each hook's symbol */
	const uint32_t *buckets; /* number of a hook + 1, 0: empty */
	const uint32_t *next;	 /* next hook of the same bucket, later hooks first; 0: end */
	const uint32_t *globs;	 /* hooks whose symbol has wildcards, in order */
	uint32_t bucket_mask;
	uint32_t glob_count;
};

/* Bytes that hk_index_build needs for COUNT hooks. */
size_t hk_index_bytes(uint32_t count);

/* Makes an index of COUNT hooks whose symbols are SYMBOLS, in ROOM: hk_index_bytes() bytes, all
 * zero, aligned for uint32_t. */
void hk_index_build(const char *const *symbols, uint32_t count, void *room,
		    struct hk_index *ret_index);

/* The hash of DT_GNU_HASH. */
uint32_t hk_index_hash(const char *symbol);

/* Whether some symbol without wildcards may begin like SYMBOL; false is certain. */
bool hk_index_begins(const struct hk_index *index, const char *symbol);

/* Whether some symbol without wildcards may have HASH, whose lowest bit is ignored; false is
 * certain. */
bool hk_index_passes(const struct hk_index *index, uint32_t hash);

/* First hook of HASH's chain as number + 1, or 0; `next` continues it. The chain also holds hooks
 * of other symbols. */
uint32_t hk_index_first(const struct hk_index *index, uint32_t hash);

#endif
