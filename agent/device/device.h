/* device.h: device time from the tracing library of the device (CUPTI, MSPTI), under
 * HOOK_DEVICE_TIME=1.
 *
 * The library is opened just before the first call of the device's API that may initialise it, and
 * its records are asked for when an outermost call of the API returned, twice a second at most.
 */
#ifndef HK_AGENT_DEVICE_DEVICE_H
#define HK_AGENT_DEVICE_DEVICE_H

#include <stdbool.h>

#include "agent/device/work.h"

/* Returns whether device time is wanted by ENVIRONMENT, which lives as long as the process. Work is
 * then handed to FEED, from any thread. Before the first scan. */
bool hk_device_start(char *const *environment, void (*feed)(const struct hk_device_work *work));

/* Has all records of finished work handed on, on a thread that is not in the agent. Returns whether
 * the library is open in this process. */
bool hk_device_flush(void);

#endif
