/* shifts.h: moments from which the steps of a job take longer, and the ranks that are the reason.
 *
 * A rank is a reason if its own time changes, beyond chance. Ranks that change at the same moment
 * are one shift. If the steps take longer and no rank's own time has changed then, all ranks do:
 * they communicate longer. Pure functions of the steps, any thread.
 */
#ifndef HK_CLI_STEPS_SHIFTS_H
#define HK_CLI_STEPS_SHIFTS_H

#include "cli/steps/shift.h"
#include "report/model/report.h"

#define HK_SHIFTS_MOST 4u

struct hk_shifts {
	struct hk_shift list[HK_SHIFTS_MOST]; /* the most expensive first */
	size_t count;
};

/* Finds the shifts of STEPS, of REPORT's job, that are certain (certain.h). Returns 0 or -ENOMEM.
 * To be freed with hk_shifts_fini in every case. */
int hk_shifts_find(const struct hk_steps *steps, const struct hk_report *report,
		   struct hk_shifts *ret_shifts);
void hk_shifts_fini(struct hk_shifts *shifts);

#endif
