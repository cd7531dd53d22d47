/* commands.h: commands in advice, made ready to be typed. Pure functions, any thread. */
#ifndef HK_REPORT_FINDING_COMMANDS_H
#define HK_REPORT_FINDING_COMMANDS_H

/* Returns the job's name ID as one word for a shell and fit for a terminal, or NULL if it cannot be
 * one, or without memory. The caller frees it. */
char *hk_commands_job(const char *id);

/* Returns TEXT with JOB behind each "hookcli COMMAND" that looks at a job, except behind "then ":
 * that command looks at a further run. The caller frees it. Returns NULL without memory. */
char *hk_commands_name(const char *text, const char *job);

#endif
