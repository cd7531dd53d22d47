/* curve.h: the live memory of a job's processes over time, as the points of step curves.
 *
 * From the series that collectors keep, not from records: those may be lost or given up. A point
 * has the most that was live within a bin, from the bin's start on, so the highest one is the
 * process's exact peak. Pure functions.
 */
#ifndef HK_CLI_EXPORT_CURVE_H
#define HK_CLI_EXPORT_CURVE_H

#include "cli/export/exporter.h"

struct hk_curve_point {
	const struct hk_export_process *process;
	const char *name;  /* of the curve: "live heap", "live device 0"; unique in its process */
	bool first;	   /* of its curve; the others follow at once */
	uint64_t width_ns; /* of the bins */
	uint64_t time_ns;
	uint64_t bytes;
};

/* Calls POINT for all points of JOB's export, until it returns other than 0, which is returned.
 * -ENOMEM. */
int hk_curves_each(const struct hk_export_job *job,
		   int (*point)(void *context, const struct hk_curve_point *point), void *context);

#endif
