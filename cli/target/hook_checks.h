/* hook_checks.h: finds hooks that will see no calls of a program, judged by its file and its
 * libraries: functions that no object calls, and functions linked into the program. No state. */
#ifndef HK_CLI_TARGET_HOOK_CHECKS_H
#define HK_CLI_TARGET_HOOK_CHECKS_H

#include <stddef.h>

#include "cli/target/checks.h"

/* Checks the list HOOKS, as --hooks takes it, for the dynamic PROGRAM. Fills up to LIMIT results
 * and returns their number. */
size_t hk_hook_checks_run(const char *hooks, const char *program, struct hk_check_result *results,
			  size_t limit);

#endif
