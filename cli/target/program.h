/* program.h: finds the program that a command runs, and whether the agent can be loaded into it.
 *
 * Reads files only, and runs no program. For a script, the program is its interpreter. Any thread.
 */
#ifndef HK_CLI_TARGET_PROGRAM_H
#define HK_CLI_TARGET_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "cli/target/checks.h"

/* Sets PATH to where execvp would find NAME. Returns 0, -ENOENT if there is none, or -EACCES if it
 * may not be executed. */
int hk_program_find(const char *name, char path[PATH_MAX]);

/* Sets *ret_result to whether LD_PRELOAD reaches the program that NAME runs, and if not, to the
 * reason and the fix. Programs that it starts are not checked. Sets PATH to the program's file, for
 * a script to its interpreter's. Returns 0, or -ENOENT, -EACCES or -ENOEXEC if it cannot be
 * executed at all. */
int hk_program_check(const char *name, char path[PATH_MAX], struct hk_check_result *ret_result);

/* Returns true if PATH holds text without a #! line, which execve refuses and shells run. */
bool hk_program_is_text(const char *path);

#endif
