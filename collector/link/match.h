/* match.h: finds, on a root, the job of a leaf's report. One thread. */
#ifndef HK_COLLECTOR_LINK_MATCH_H
#define HK_COLLECTOR_LINK_MATCH_H

#include "schema/wire.pb-c.h"

struct hk_collector;

/* Returns the job of USER, open or closed, to which FROM belongs, which NODE reports, or NULL if it
 * is unknown. A job that its node opened again is found by its processes. */
struct hk_job *hk_match_job(struct hk_collector *collector, const char *user, const Hk__Node *node,
			    const Hk__LeafJob *from);

#endif
