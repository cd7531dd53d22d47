/* gather.h: the stacks of a job on all of its nodes, for one request.
 *
 * This node's processes are asked here, and each leaf learns of the request with the answer to its
 * next report, at most a second later, and sends its part. A leaf that does not is named. A
 * collector gathers for one request at a time; others wait in line. One thread.
 */
#ifndef HK_COLLECTOR_LINK_GATHER_H
#define HK_COLLECTOR_LINK_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_gather;
struct hk_job;

/* Continues REQUEST about JOB, which OWNER stands for. Returns 1 with all that has come in
 * *RET_GATHER, which the caller frees; 0 if it is not complete: the caller calls again soon; or
 * -ENOMEM. */
int hk_gather_run(struct hk_collector *collector, const struct hk_job *job,
		  const Hk__StacksRequest *request, const void *owner,
		  struct hk_gather **ret_gather);

/* Gives up what OWNER began, if it did. */
void hk_gather_drop(struct hk_collector *collector, const void *owner);

/* The answer; it belongs to GATHER. */
Hk__StacksReply *hk_gather_reply(struct hk_gather *gather);

/* Accepts NULL, returns NULL. */
struct hk_gather *hk_gather_free(struct hk_gather *gather, struct hk_collector *collector);

/* Adds to REPLY what is wanted of the leaf NODE, if its part of JOB is not there yet. */
void hk_gather_want(const struct hk_collector *collector, const struct hk_job *job,
		    const Hk__Node *node, Hk__LeafJobReply *reply);

/* Takes the part of a leaf of USER ("": any), whose processes leave PUT. Returns 0, or -ENOENT if
 * it is not wanted, or not any more. */
int hk_gather_put(struct hk_collector *collector, const char *user, Hk__StacksPut *put);

#endif
