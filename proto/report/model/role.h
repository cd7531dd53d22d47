/* role.h: the role of a process within its job. Pure functions of the snapshot. */
#ifndef HK_REPORT_MODEL_ROLE_H
#define HK_REPORT_MODEL_ROLE_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Rank that a process counts for: rank 0 if no launcher numbered it, but a launcher keeps -1. */
int32_t hk_report_rank_of(const Hk__Process *process);

/* Records that PROCESS committed and that were stored; the others are counted as lost. */
uint64_t hk_report_records_of(const Hk__Process *process);

/* "main", "helper" or "launcher"; static. */
const char *hk_report_role_name(Hk__Role role);
const char *hk_report_role_of(const Hk__Process *process);

#endif
