/* agreements.h: what comparing digests over ranks has shown, out of a snapshot. Locked by the
 * caller.
 */
#ifndef HK_REPORT_AGREEMENT_AGREEMENTS_H
#define HK_REPORT_AGREEMENT_AGREEMENTS_H

#include "report/model/report.h"
#include "schema/wire.pb-c.h"

/* Fills `agreements` of REPORT. Takes the marks that carried the digests out of its calls. Returns
 * 0 or -ENOMEM. */
int hk_report_agreements_fill(struct hk_report *report, const Hk__Snapshot *snapshot);

#endif
