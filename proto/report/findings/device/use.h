/* use.h: sums what the hosts' calls and the devices' records of a report say about its devices.
 * Pure functions of the report, any thread. */
#ifndef HK_REPORT_FINDINGS_DEVICE_USE_H
#define HK_REPORT_FINDINGS_DEVICE_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/build/group.h"
#include "report/model/report.h"

/* Calls of one kind, of all main processes. */
struct hk_device_calls {
	uint64_t calls;
	double ns, bytes;
	const char *function; /* the one with the most time; NULL: no such call */
	double function_ns;
};

/* Times are sums over the ranks that use a device, in ns. */
struct hk_device_use {
	size_t ranks;
	double window_ns; /* from a rank's first call of a device's API to its last */
	struct hk_device_calls launches; /* of kernels and graphs */
	struct hk_device_calls waits;	 /* for a device, a stream or an event */
	struct hk_device_calls copies;	 /* that return when the data is there */
	struct hk_device_calls others;	 /* outermost calls of other domains, but idle ones */
	/* Time and number of the devices' own records. False: they were not asked for, or do not
	 * cover all calls. */
	bool have_work;
	double work_ns;
	uint64_t works;
};

/* Returns the sums. GROUPS are those of REPORT by HK_GROUP_FUNCTION. */
struct hk_device_use hk_device_use_of(const struct hk_report *report,
				      const struct hk_groups *groups);

#endif
