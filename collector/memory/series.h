/* series.h: how many bytes are live over time, in bins that get wider as the time gets longer.
 *
 * The first bin begins with the first value. When HK_SERIES_BINS are full, each two become one, so
 * from then on at least half of the bins are in use. Plain values; the memory and the lock are the
 * caller's. A zeroed struct is empty.
 */
#ifndef HK_COLLECTOR_MEMORY_SERIES_H
#define HK_COLLECTOR_MEMORY_SERIES_H

#include <stdint.h>

#define HK_SERIES_BINS 256u
#define HK_SERIES_SHIFT_MIN 16u /* of the first bins */
#define HK_SERIES_SHIFT_MAX 56u /* enough for all of 64 bits */

struct hk_series {
	uint64_t start_ticks;		     /* of the first bin */
	uint32_t shift;			     /* a bin is 2^shift ticks */
	uint32_t count;			     /* bins in use */
	uint64_t max_bytes[HK_SERIES_BINS];  /* most in a bin, what it began with included */
	uint64_t last_bytes[HK_SERIES_BINS]; /* at its end, of the last bin so far */
};

/* Sets the live bytes from TICKS on to BYTES. A time before the last bin counts for the last bin.
 */
void hk_series_add(struct hk_series *series, uint64_t ticks, uint64_t bytes);

#endif
