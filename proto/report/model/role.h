/* role.h: the role of a process within its job. Pure functions of the snapshot. */
#ifndef HK_REPORT_MODEL_ROLE_H
#define HK_REPORT_MODEL_ROLE_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Returns the rank that PROCESS counts for. A process that no launcher numbered counts for rank 0,
 * a launcher for -1. */
int32_t hk_report_rank_of(const Hk__Process *process);

/* Returns the records of PROCESS without those that found no room in the store, which are in
 * lost_records. */
uint64_t hk_report_records_of(const Hk__Process *process);

/* "main", "helper" or "launcher"; static. */
const char *hk_report_role_name(Hk__Role role);
const char *hk_report_role_of(const Hk__Process *process);

#endif
