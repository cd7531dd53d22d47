/* last_calls.h: the last recorded calls of one rank. Reads the job's chunk files. One thread. */
#ifndef HK_CLI_TIMELINE_LAST_CALLS_H
#define HK_CLI_TIMELINE_LAST_CALLS_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

#define HK_LAST_CALLS 5u
#define HK_LAST_CALL_BYTES 128u

struct hk_last_call {
	char function[HK_LAST_CALL_BYTES]; /* printable, cut */
	int64_t start_ns;		   /* since the job's start */
	uint64_t duration_ns;
};

/* Sets CALLS to the last calls of the first threads of RANK's main processes in SNAPSHOT's job,
 * whose files lie in DIRECTORY, by their starts. Returns how many there are, or -errno. */
int hk_last_calls_read(const Hk__Snapshot *snapshot, const char *directory, int32_t rank,
		       struct hk_last_call calls[HK_LAST_CALLS]);

#endif
