/* series.h: the steps of one rank in bounded memory: at most HK_STEP_BINS bins. While there are
 * fewer steps, each has a bin of its own. When the bins are full, each two neighbours become one.
 * Locked by the caller.
 */
#ifndef HK_CLI_STEPS_SERIES_H
#define HK_CLI_STEPS_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define HK_STEP_BINS 1024u /* even */

/* Neighbouring steps. */
struct hk_step_bin {
	uint64_t begin_ns;
	double duration_ns, own_ns; /* sums */
	uint32_t steps;
};

/* Zero-initialise it before use. */
struct hk_step_series {
	struct hk_step_bin *bins;
	size_t count, room;
	uint32_t width; /* steps of every bin; the last one may have fewer */
	uint64_t steps;
};

/* Adds the next step. Returns 0 or -ENOMEM. */
int hk_step_series_add(struct hk_step_series *series, uint64_t begin_ns, double duration_ns,
		       double own_ns);

/* Merges bins until they are WIDTH steps wide, a power of two. */
void hk_step_series_widen(struct hk_step_series *series, uint32_t width);

void hk_step_series_fini(struct hk_step_series *series);

#endif
