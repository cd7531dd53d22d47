/* device_time.h: what a process's device time comes from, and what is missing of it. */
#ifndef HK_REPORT_BUILD_DEVICE_TIME_H
#define HK_REPORT_BUILD_DEVICE_TIME_H

#include <stdio.h>

#include "report/model/report.h"

/* Fills ROW's device time from PROCESS. */
void hk_device_time_fill(const Hk__Process *process, struct hk_report_process *row);

/* Writes to NOTES why device time is missing, and how much of it, with "; " before each note but
 * the first. Writes nothing if all of it is there. */
void hk_device_time_note(FILE *notes, const struct hk_report_device_time *device);

#endif
