/* varints.h: many base-128 integers at once.
 *
 * What a column is made of: the same bytes as hk_varint_put for each value, in whichever way this
 * processor is fastest. Pure functions. */
#ifndef HK_CHUNK_CODEC_VARINTS_H
#define HK_CHUNK_CODEC_VARINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What may be touched beyond the bytes that are written. */
#define HK_VARINTS_SLACK 64u

/* Writes `count` values and returns the end of them; `at` must have room for HK_VARINT_BYTES_MAX
 * bytes each, and for HK_VARINTS_SLACK more. */
typedef uint8_t *hk_varints_put_fn(uint8_t *at, const uint64_t *values, size_t count);

/* One way to do it. */
struct hk_varints_way {
	const char *name;
	hk_varints_put_fn *put;
	bool (*runs_here)(void); /* whether this processor can, and should */
};

/* The fastest first; the last one runs everywhere. */
extern const struct hk_varints_way hk_varints_ways[];
extern const unsigned hk_varints_way_count;

/* The fastest one of this processor. */
hk_varints_put_fn *hk_varints_put_here(void);

#endif
