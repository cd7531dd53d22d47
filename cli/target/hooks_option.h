/* hooks_option.h: --hooks, for the commands that run a program. Main thread only. */
#ifndef HK_CLI_TARGET_HOOKS_OPTION_H
#define HK_CLI_TARGET_HOOKS_OPTION_H

#include <argp.h>
#include <stddef.h>

/* Adds --hooks to a command's argp; what it says goes to the setting `hooks`. */
extern const struct argp hk_hooks_option_argp;

/* The setting `hooks` as the agent shall read it, checked; the caller frees it. NULL after a line
 * on stderr. */
char *hk_hooks_option_list(void);

/* Name number INDEX that --hooks takes besides files and patterns; NULL after the last. */
const char *hk_hooks_option_word(size_t index);

#endif
