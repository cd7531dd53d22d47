/* intake.h: on a root, the reports that leaves send.
 *
 * A process of another node is a struct hk_process without a segment, made of the leaf's values. A
 * report may come twice, late or never: values are cumulative, and the answers say what the root
 * has. The messages are hostile. One thread.
 */
#ifndef HK_COLLECTOR_LINK_INTAKE_H
#define HK_COLLECTOR_LINK_INTAKE_H

#include <stdint.h>

#include "collector/server/quota.h"

struct hk_collector;

/* An answer to a report; zero it first. */
struct hk_intake_reply {
	uint32_t opened; /* jobs */
	uint64_t last;	 /* where the leaf's last report was in the stream, if one is missing */
	Hk__LeafReply message;
	struct hk_intake_part *parts;
	Hk__LeafJobReply **jobs;
	Hk__ChunkReply *chunks;
	Hk__ChunkReply **chunk_list;
};

/* The sender of a report. */
struct hk_intake_client {
	const char *user;	    /* whose jobs these are; "": of no user in particular */
	struct hk_account *account; /* that pays for what is kept; NULL: without limits */
	struct hk_quota *quota;	    /* of that account */
	uint64_t
	    sequence; /* of a report that is read in order, and may be read again; 0: it is none */
	bool gap;     /* the reports before it cannot be had any more */
};

/* Takes REPORT; the messages of its processes become the job's. Returns 0; 1 if it is read in order
 * and one before it is missing, so that it is not taken, unless there is a `gap`; -EINVAL if it is
 * invalid, -ENOSPC if there are too many leaves, or -ENOMEM. The answer has an error for each job
 * that could not be taken completely: -EDQUOT at a limit of the account (quota.h), -EAGAIN if the
 * next report can bring the rest. */
int hk_intake_report(struct hk_collector *collector, const struct hk_intake_client *client,
		     Hk__LeafReport *report, struct hk_intake_reply *reply);
void hk_intake_reply_fini(struct hk_intake_reply *reply);

#endif
