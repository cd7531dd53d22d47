/* trial_run.h: runs a command under the agent at level `count`, in a store of its own that is gone
 * afterwards, to see what the agent reaches in it. One at a time.
 */
#ifndef HK_CLI_TARGET_TRIAL_RUN_H
#define HK_CLI_TARGET_TRIAL_RUN_H

#include "report/model/report.h"

/* Runs COMMAND (ended by NULL) through `hookcli run`. 0, the command's status and the report of the
 * run, which the caller frees; -ECHILD: hooktrace could not run it and has said why; -errno. */
int hk_trial_run(char *const *command, int *ret_status, struct hk_report **ret_report);

#endif
