/* command.h: the subcommands of hookcli and what they share: exit codes, options such as
 * --collector, settings. Each subcommand is one file that defines one `const struct hk_command
 * hk_command_<name>`; HK_COMMANDS lists them. A command parses its own arguments with argp (argv[0]
 * is "hookcli <name>") and returns hookcli's exit code. Used from the main thread only. */
#ifndef HK_CLI_COMMAND_H
#define HK_CLI_COMMAND_H

#include <argp.h>
#include <stdbool.h>

#include "settings/manual.h"

/* Exit codes of every command but `run`, which exits with its command's status. */
enum hk_exit {
	HK_EXIT_DONE = 0,
	HK_EXIT_FAILED = 1, /* or the input is damaged; what could be read was shown */
	HK_EXIT_USAGE = 2,
	HK_EXIT_ABSENT = 3, /* no such job or collector */
};

struct hk_command {
	struct hk_manual_command manual; /* name, one line for the list of commands, options */
	int (*run)(int argc, char **argv);
};

/* All subcommands in the order of the help: cmd/<name>.c defines one each. */
#define HK_COMMANDS(X) \
	X(run)         \
	X(attach)      \
	X(detach)      \
	X(top)         \
	X(why)         \
	X(open)        \
	X(report)      \
	X(export)      \
	X(diff)        \
	X(compare)     \
	X(log)         \
	X(ctl)         \
	X(stacks)      \
	X(status)      \
	X(ls)          \
	X(rm)          \
	X(hooks)       \
	X(env)         \
	X(doctor)

/* Subcommands that hooktrace's own programs start; the help does not show them. */
#define HK_COMMANDS_INTERNAL(X) X(make_pages)

#define HK_COMMAND_DECLARE(name) extern const struct hk_command hk_command_##name;
HK_COMMANDS(HK_COMMAND_DECLARE)
HK_COMMANDS_INTERNAL(HK_COMMAND_DECLARE)

/* Options for the connection to a collector, --collector URL and others. Every command's argp has
 * it as a child. */
extern const struct argp hk_command_argp;

/* Returns the settings of this process, read at the first call. Ends the program without memory. */
struct hk_settings *hk_command_settings(void);

/* Returns the value of setting `name` (settings/settings.h), or NULL if it is not set. */
const char *hk_command_setting(const char *name);

/* Sets setting NAME by an option that may repeat: its first VALUE replaces that of other sources,
 * later ones are added with a comma. GIVEN is the option's own, false at first. Returns 0 or
 * -errno. */
int hk_command_setting_add(const char *name, const char *value, bool *given);

/* Opens `path` for the output of a command; NULL or "-": stdout. Returns NULL after a line on
 * stderr. A file appears at its path when it is closed (atomic_file.h). One file at a time. */
FILE *hk_command_output(const char *path);

/* Closes the output. Returns `code`, or HK_EXIT_FAILED after a line on stderr if a write failed;
 * removes an incomplete file. */
int hk_command_output_close(FILE *output, int code);

/* Closes an output whose content could not be made, with error RC, after a line on stderr that
 * names WHAT ("the report"). Removes an incomplete file. */
void hk_command_output_fail(FILE *output, const char *what, int rc);

/* Closes an output and removes an incomplete file, without a line on stderr. */
void hk_command_output_discard(FILE *output);

/* Returns true if `output` is a terminal that wants colour: NO_COLOR is empty or unset, TERM is not
 * "dumb". */
bool hk_command_colour(FILE *output);

/* Returns how many characters a line of OUTPUT has: what COLUMNS says, else the terminal's width; 0
 * if OUTPUT is no terminal and COLUMNS is not set. */
unsigned hk_command_columns(FILE *output);

#endif
