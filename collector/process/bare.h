/* bare.h: programs that a process started without the agent, copied from its segment into its
 * message. Not thread-safe. */
#ifndef HK_COLLECTOR_PROCESS_BARE_H
#define HK_COLLECTOR_PROCESS_BARE_H

#include "ring/reader.h"
#include "schema/wire.pb-c.h"

/* Copies what READER has into STATE, whose segment was refreshed to STATUS. Adds a number that
 * changes with the programs to *FINGERPRINT. Returns 0 or -ENOMEM. */
int hk_bare_refresh(Hk__Process *state, struct hk_reader *reader,
		    const struct hk_segment_status *status, uint64_t *fingerprint);

#endif
