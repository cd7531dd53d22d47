/* intake.h: on a root, the reports that leaves send.
 *
 * A process of another node is a struct hk_process without a segment, made of the leaf's values.
 * Whatever comes twice, late or not at all does no harm: values are cumulative, and the answers say
 * what is here. The messages are hostile. One thread.
 */
#ifndef HK_COLLECTOR_LINK_INTAKE_H
#define HK_COLLECTOR_LINK_INTAKE_H

#include <stdint.h>

#include "collector/server/quota.h"

struct hk_collector;

/* An answer to a report; zero it first. */
struct hk_intake_reply {
	uint32_t opened; /* jobs */
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
};

/* Takes REPORT in; its processes' messages become the job's own. -EINVAL: it makes no sense;
 * -ENOSPC: too many leaves; -ENOMEM. What cannot be taken of one job is said in the answer, -EDQUOT
 * where a limit of the account (quota.h) is reached, -EAGAIN where the next report can bring it. */
int hk_intake_report(struct hk_collector *collector, const struct hk_intake_client *asker,
		     Hk__LeafReport *report, struct hk_intake_reply *reply);
void hk_intake_reply_fini(struct hk_intake_reply *reply);

#endif
