/* Memory of this process, and the return of what its allocator keeps free. */
#pragma once

#include <stdint.h>

/* When to try next; zeroed at first. */
struct hk_resident {
	uint64_t next_ns; /* monotonic */
	uint64_t wait_ns; /* until the try after that */
};

/* Returns the resident memory of this process in bytes, from /proc/self/statm; 0 if it cannot be
 * read. */
uint64_t hk_resident_bytes(void);

/* Returns the allocator's free memory to the system, if a try is due at NOW (monotonic ns). The
 * next try is due after 2 s. The wait doubles up to 32 s each time that a try returned little. */
void hk_resident_trim(struct hk_resident *resident, uint64_t now);
