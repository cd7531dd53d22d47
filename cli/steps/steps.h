/* steps.h: the steps of each rank of a recorded job, from one pass over its records. marker.h says
 * what a step is. A rank's own time in a step is the step's duration without the time in calls that
 * wait for other ranks or for a device: those of MPI, other sends, receives, collectives and waits.
 * Steps are those of the first thread of a rank's main process. One thread.
 */
#ifndef HK_CLI_STEPS_STEPS_H
#define HK_CLI_STEPS_STEPS_H

#include "cli/steps/marker.h"
#include "report/model/strings.h"
#include "schema/wire.pb-c.h"
#include "timeline/call.h"

#define HK_STEP_GAPS 64u

struct hk_step_rank {
	int32_t rank;
	struct hk_step_series series;
};

struct hk_steps {
	struct hk_report_strings strings;
	bool known;		 /* there are steps of all ranks */
	struct hk_marker marker; /* valid if known */
	uint64_t first;		 /* number of the first step */
	struct hk_step_rank *ranks;
	size_t rank_count;
	size_t count;		     /* bins that all ranks have, equally wide */
	uint64_t origin_ns;	     /* time 0 of the report */
	uint64_t clock_error_ns;     /* of the rank with the largest one */
	uint64_t gaps[HK_STEP_GAPS]; /* times at which missing records were noticed */
	size_t gap_count;	     /* may exceed HK_STEP_GAPS: then some times are missing */
	bool elsewhere;		     /* some records lie elsewhere */
	bool damaged;		     /* records cannot be read: there are no steps */
};

/* Reads the steps of SNAPSHOT's job, whose files lie in DIRECTORY. Returns 0, -EBADMSG if some
 * records are damaged, or -errno. To be freed with hk_steps_fini in every case. */
int hk_steps_read(const Hk__Snapshot *snapshot, const char *directory, struct hk_steps *ret_steps);
void hk_steps_fini(struct hk_steps *steps);

/* Return how wide bins are, in steps, and the number of the first step of bin INDEX. */
uint32_t hk_steps_width(const struct hk_steps *steps);
uint64_t hk_steps_number(const struct hk_steps *steps, size_t index);

/* Returns the time at which bin INDEX of rank number RANK begins; behind the last one its end. */
uint64_t hk_steps_begin(const struct hk_steps *steps, size_t rank, size_t index);

/* Return what a step took in bin INDEX of rank number RANK, on average: in all, and its own time.
 */
double hk_steps_duration(const struct hk_steps *steps, size_t rank, size_t index);
double hk_steps_own(const struct hk_steps *steps, size_t rank, size_t index);

/* Returns the median duration of a step over the ranks in bin INDEX. SCRATCH has room for a value
 * of each rank. */
double hk_steps_median(const struct hk_steps *steps, size_t index, double *scratch);

/* Returns whether calls of SITE may wait for other ranks or for a device. */
bool hk_steps_waits(const struct hk_export_site *site);

#endif
