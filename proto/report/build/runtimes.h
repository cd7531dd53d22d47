/* runtimes.h: fills the objects of a report that a CUDA runtime is linked into. */
#ifndef HK_REPORT_BUILD_RUNTIMES_H
#define HK_REPORT_BUILD_RUNTIMES_H

#include "report/model/report.h"
#include "schema/wire.pb-c.h"

/* Returns 0 or -ENOMEM. */
int hk_report_runtimes_fill(struct hk_report *report, const Hk__Snapshot *snapshot);

/* Whether PROCESS loaded a CUDA driver, or called one. */
bool hk_report_has_driver(const Hk__Process *process);

#endif
