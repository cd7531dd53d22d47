/* job_settings.h: the settings with which a job begins, from options, variables or a file. Main
 * thread only. */
#ifndef HK_CLI_TARGET_JOB_SETTINGS_H
#define HK_CLI_TARGET_JOB_SETTINGS_H

#include "schema/wire.pb-c.h"

/* Checks the settings level, on-full, keep, budget and trigger. Returns 0, or -EINVAL after a line
 * on stderr.
 */
int hk_job_settings_check(void);

/* Gives level record to the functions that conditions of triggers name, so that what came before
 * the moment is there. Levels that were given come behind and prevail. Returns 0 or -ENOMEM. */
int hk_job_settings_record_watched(void);

/* Returns the plan of triggers, which the next call replaces, or NULL without triggers. */
Hk__TriggerPlan *hk_job_settings_triggers(void);

#endif
