/* trial_run.h: runs a command under the agent at level `count` in a temporary store, to see what
 * the agent reaches in it. One at a time. */
#ifndef HK_CLI_TARGET_TRIAL_RUN_H
#define HK_CLI_TARGET_TRIAL_RUN_H

#include "report/model/report.h"

/* Runs COMMAND (ended by NULL) through `hookcli run`. Returns 0 with the command's status and the
 * report of the run, which the caller frees. Returns -ECHILD after a message if hooktrace could not
 * run it, or another -errno. */
int hk_trial_run(char *const *command, int *ret_status, struct hk_report **ret_report);

#endif
