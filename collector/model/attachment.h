/* attachment.h: the fields of a process while its segment is attached.
 *
 * Made when the segment is found, freed when all of it is stored elsewhere. One thread uses it.
 */
#ifndef HK_COLLECTOR_MODEL_ATTACHMENT_H
#define HK_COLLECTOR_MODEL_ATTACHMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/reader.h"

struct hk_activity;
struct hk_governor;
struct hk_ledger;
struct hk_loaded;
struct hk_memory_group;
struct hk_rows;
struct hk_spool;

struct hk_attachment {
	struct hk_reader *reader;
	struct hk_segment_status status; /* at the last refresh of `reader` */
	struct hk_spool *spool;
	struct hk_ledger *ledger;
	struct hk_rows *rows;
	int dirfd;			      /* of its run directory; the collector's */
	int pidfd;			      /* -1: none */
	struct hk_memory_group *memory_group; /* NULL: unknown */
	/* Draining. */
	uint64_t pending_since_ns; /* monotonic; 0: nothing pending */
	uint64_t pending_bytes;
	uint64_t retry_ns; /* monotonic: time of the next try after a failed one */
	uint64_t stuck_ns; /* monotonic: start of failures to store; 0: none */
	/* Values. */
	uint64_t fingerprint; /* of what the state was made from */
	uint64_t usage_due_ns, stalled_due_ns;
	uint32_t refreshes;
	struct hk_activity *activity; /* of a main process that was looked at */
	struct hk_loaded *loaded;     /* objects seen in it; NULL: none yet */
	/* Levels. */
	struct hk_governor *governor;
	uint32_t control_written; /* hk_job's control_changes that its agent was told of */
	bool ceilings_changed;	  /* and the governor's wishes that it was not */
};

#endif
