/* moment.h: moments and ranks of steps as people read them. Pure functions, any thread. */
#ifndef HK_CLI_STEPS_MOMENT_H
#define HK_CLI_STEPS_MOMENT_H

#include "cli/steps/shifts.h"
#include "cli/steps/steps.h"

#define HK_MOMENT_BYTES 32u
#define HK_SUBJECT_BYTES 96u

/* Writes the time at which bin INDEX begins on rank number RANK, since the job's start:
 * "00:07:12.4". Returns TEXT. */
const char *hk_moment_print(char text[HK_MOMENT_BYTES], const struct hk_steps *steps, size_t rank,
			    size_t index);

/* Writes the ranks of SHIFT: "rank 3", "ranks 0-2,5", "all ranks". Returns TEXT. */
const char *hk_moment_subject(char text[HK_SUBJECT_BYTES], const struct hk_steps *steps,
			      const struct hk_shift *shift);

#endif
