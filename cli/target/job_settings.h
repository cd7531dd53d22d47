/* job_settings.h: the settings with which a job begins, from options, variables or a file. Main
 * thread only. */
#ifndef HK_CLI_TARGET_JOB_SETTINGS_H
#define HK_CLI_TARGET_JOB_SETTINGS_H

/* Checks the settings level, on-full, keep and budget. Returns 0, or -EINVAL after a line on
 * stderr.
 */
int hk_job_settings_check(void);

#endif
