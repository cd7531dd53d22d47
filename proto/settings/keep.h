/* keep.h: how much is kept of a job's records: all, the newest of so many bytes, or those of the
 * last so many seconds. */
#ifndef HK_SETTINGS_KEEP_H
#define HK_SETTINGS_KEEP_H

#include <stdbool.h>
#include <stdint.h>

struct hk_keep {
	uint64_t bytes; /* UINT64_MAX: unlimited */
	uint64_t ns;	/* UINT64_MAX: unlimited */
};

/* Reads "all", "<n>s" (n at least 1), "<n>", "<n>K", "<n>M" or "<n>G" (bytes). Returns 0 or
 * -EINVAL. */
int hk_keep_parse(const char *text, struct hk_keep *ret_keep);

/* Reads "all", "<n>", "<n>K", "<n>M" or "<n>G". Returns 0 or -EINVAL. */
int hk_keep_parse_bytes(const char *text, uint64_t *ret_bytes);

static inline bool hk_keep_is_all(const struct hk_keep *keep)
{
	return keep->bytes == UINT64_MAX && keep->ns == UINT64_MAX;
}

#endif
