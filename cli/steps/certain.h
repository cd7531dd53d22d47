/* certain.h: whether a change of steps is one that may be said. Pure functions, any thread. */
#ifndef HK_CLI_STEPS_CERTAIN_H
#define HK_CLI_STEPS_CERTAIN_H

#include "cli/steps/shift.h"
#include "report/model/report.h"

/* Returns whether all records around SHIFT are there at the same levels, whether it is larger than
 * the error of the clocks, and whether the job's steps took longer then. */
bool hk_shift_is_certain(const struct hk_steps *steps, const struct hk_report *report,
			 const struct hk_shift *shift);

#endif
