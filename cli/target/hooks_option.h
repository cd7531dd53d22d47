/* hooks_option.h: --hooks, for the commands that run a program. Main thread only. */
#ifndef HK_CLI_TARGET_HOOKS_OPTION_H
#define HK_CLI_TARGET_HOOKS_OPTION_H

#include <argp.h>
#include <stddef.h>

/* Adds --hooks to a command's argp. Its value goes to the setting `hooks`. */
extern const struct argp hk_hooks_option_argp;

/* Returns the setting `hooks`, checked, in the form that the agent reads. The caller frees it.
 * Returns NULL after a line on stderr. */
char *hk_hooks_option_list(void);

/* Checks VALUE of --level: LEVEL or PATTERN=LEVEL, several separated by commas. Returns 0, or
 * -errno after a line on stderr. */
int hk_hooks_option_level(const char *value);

/* Returns name number INDEX that --hooks takes besides files and patterns, or NULL after the last.
 */
const char *hk_hooks_option_word(size_t index);

#endif
