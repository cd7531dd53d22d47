/* varints.h: many base-128 integers at once, as columns hold them: the same bytes as hk_varint_put
 * for each value, in the fastest way for this processor. Pure functions. */
#ifndef HK_CHUNK_CODEC_VARINTS_H
#define HK_CHUNK_CODEC_VARINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that may be overwritten behind the output. */
#define HK_VARINTS_SLACK 64u

/* Writes `count` values and returns the end of the output. `at` must have room for
 * HK_VARINT_BYTES_MAX bytes each, and HK_VARINTS_SLACK more. */
typedef uint8_t *hk_varints_put_fn(uint8_t *at, const uint64_t *values, size_t count);

/* One implementation. */
struct hk_varints_way {
	const char *name;
	hk_varints_put_fn *put;
	bool (*runs_here)(void); /* whether this processor supports it and runs it fast */
};

/* Fastest first; the last one runs everywhere. */
extern const struct hk_varints_way hk_varints_ways[];
extern const unsigned hk_varints_way_count;

/* The fastest one that runs on this processor. */
hk_varints_put_fn *hk_varints_put_here(void);

#endif
