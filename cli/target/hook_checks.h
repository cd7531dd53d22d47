/* hook_checks.h: which hooks will see nothing of a program, as far as its file and those of its
 * libraries tell: functions that nobody calls, and functions linked into the program. No state.
 */
#ifndef HK_CLI_TARGET_HOOK_CHECKS_H
#define HK_CLI_TARGET_HOOK_CHECKS_H

#include <stddef.h>

#include "cli/target/checks.h"

/* Looks at the list HOOKS, as --hooks takes it, for the dynamic PROGRAM, and fills up to LIMIT
 * results. How many. */
size_t hk_hook_checks_look(const char *hooks, const char *program, struct hk_check_result *results,
			   size_t limit);

#endif
