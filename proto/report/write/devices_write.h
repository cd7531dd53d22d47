/* devices_write.h: a table of what devices did, by the name that the device gives it. */
#ifndef HK_REPORT_WRITE_DEVICES_WRITE_H
#define HK_REPORT_WRITE_DEVICES_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/build/group.h"

/* Returns whether GROUP, by function, is work of a device and not calls. */
bool hk_devices_are(const struct hk_group *group);

/* Writes at most LIMIT rows of GROUPS, those with most device time first, or nothing if no device
 * was measured. The share is of the device time of all rows. Returns 0, -ENOMEM or -EIO. */
int hk_devices_write(const struct hk_groups *groups, size_t limit, bool colour, FILE *output);

#endif
