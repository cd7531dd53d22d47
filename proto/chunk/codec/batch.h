/* batch.h: loops over the fields of a batch of records, in the widest vectors that the processor
 * has.
 *
 * Private to writer.c and lanes.c. Plain loops without a branch inside: the compiler makes a copy
 * for each generation of processors, and the loader picks one. Pure functions.
 */
#ifndef HK_CHUNK_CODEC_BATCH_H
#define HK_CHUNK_CODEC_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_BATCH_STEP 16u

/* Takes HK_BATCH_STEP records of `size` words apart. Returns false unless all are short calls whose
 * kind and size are `like` (the raw header's second word, shifted); the output is then invalid. */
bool hk_batch_gather(const uint64_t *words, size_t size, uint64_t like, uint64_t *ret_starts,
		     uint64_t *ret_durations, uint32_t *ret_shapes);

/* Zigzag differences of each of at least one start from the one before, of the first one from
 * `previous`; returns the smallest start. */
uint64_t hk_batch_differences(const uint64_t *starts, uint32_t count, uint64_t previous,
			      uint64_t *ret_differences);

/* The bits in which any of the shapes (at least one) differs from the first. */
uint32_t hk_batch_unlike(const uint32_t *shapes, uint32_t count);

/* The highest end of at least one record. An end is the start plus the duration times
 * `ticks_per_ns_q32`, a product that fits 64 bits, or UINT64_MAX on overflow. */
uint64_t hk_batch_latest_end(const uint64_t *starts, const uint64_t *durations, uint32_t count,
			     uint64_t ticks_per_ns_q32);

#endif
