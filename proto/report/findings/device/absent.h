/* absent.h: adds ranks whose program found no device. Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_DEVICE_ABSENT_H
#define HK_REPORT_FINDINGS_DEVICE_ABSENT_H

#include "report/finding/finding.h"

void hk_findings_add_absent_devices(const struct hk_report *report, struct hk_findings *findings);

#endif
