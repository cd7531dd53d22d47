/* curve.h: the live memory of a job's processes over time, as the points of step curves. They come
 * from the collectors' series, not from records, which may be lost or evicted. A point is the
 * maximum within a bin, at the bin's start, so the highest point is the process's exact peak. Pure
 * functions. */
#ifndef HK_CLI_EXPORT_CURVE_H
#define HK_CLI_EXPORT_CURVE_H

#include "cli/export/exporter.h"

struct hk_curve_point {
	const struct hk_export_process *process;
	const char
	    *name;  /* name of the curve: "live heap", "live device 0"; unique in its process */
	bool first; /* first point of its curve; the others follow directly */
	uint64_t width_ns; /* width of the bins */
	uint64_t time_ns;
	uint64_t bytes;
};

/* Calls POINT for all points of JOB's export until POINT returns a value other than 0, and returns
 * that value. Returns 0 or -ENOMEM otherwise. */
int hk_curves_each(const struct hk_export_job *job,
		   int (*point)(void *context, const struct hk_curve_point *point), void *context);

#endif
