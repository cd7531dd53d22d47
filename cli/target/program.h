/* program.h: the program that a command runs, and whether the agent can be loaded into it.
 *
 * Looks at files only: nothing is run. Scripts stand for their interpreters. Any thread.
 */
#ifndef HK_CLI_TARGET_PROGRAM_H
#define HK_CLI_TARGET_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "cli/target/checks.h"

/* Where execvp would find NAME, into PATH. 0; -ENOENT: there is none; -EACCES: it may not be
 * executed. */
int hk_program_find(const char *name, char path[PATH_MAX]);

/* Says into *ret_result whether LD_PRELOAD reaches the program that NAME runs, and if not, why and
 * what to do. Nothing is said about what that one starts. PATH is then the program's file, for a
 * script that of its interpreter. 0; -ENOENT, -EACCES, -ENOEXEC: it cannot be executed at all. */
int hk_program_check(const char *name, char path[PATH_MAX], struct hk_check_result *ret_result);

/* True if PATH holds text without a #! line: execve refuses it, shells run it. */
bool hk_program_is_text(const char *path);

#endif
