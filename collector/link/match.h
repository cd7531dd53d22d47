/* match.h: on a root, which job a leaf's report is about. One thread. */
#ifndef HK_COLLECTOR_LINK_MATCH_H
#define HK_COLLECTOR_LINK_MATCH_H

#include "schema/wire.pb-c.h"

struct hk_collector;

/* The job of USER that FROM, which NODE reports, belongs to, open or closed; NULL: none that is
 * known. A job that its node opened once more is found by its processes. */
struct hk_job *hk_match_job(struct hk_collector *collector, const char *user, const Hk__Node *node,
			    const Hk__LeafJob *from);

#endif
