/* absent.h: adds ranks whose program found no device. */
#ifndef HK_REPORT_FINDINGS_DEVICE_ABSENT_H
#define HK_REPORT_FINDINGS_DEVICE_ABSENT_H

#include "report/finding/finding.h"

void hk_findings_add_devices(const struct hk_report *report, struct hk_findings *findings);

#endif
