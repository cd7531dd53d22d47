/* command.h: the subcommands of hookcli and what they share: exit codes and one way to report an error.
 *
 * Each subcommand is one file that defines one `const struct hk_command hk_command_<name>`; main.c lists them in one table.
 * A command parses its own arguments with argp (argv[0] is "hookcli <name>") and returns hookcli's exit code.
 */
#ifndef HK_COMMAND_H
#define HK_COMMAND_H

/* Exit codes of every command but `run`, which leaves with its command's. */
enum hk_exit {
	HK_EXIT_DONE = 0,
	HK_EXIT_FAILED = 1, /* or the input is damaged; what could be read was shown */
	HK_EXIT_USAGE = 2,
	HK_EXIT_ABSENT = 3, /* no such job or collector */
};

struct hk_command {
	const char *name;
	const char *summary; /* one line for the list of commands */
	int (*run)(int argc, char **argv);
};

extern const struct hk_command hk_command_run, hk_command_top, hk_command_report,
    hk_command_export, hk_command_status, hk_command_doctor, hk_command_env, hk_command_ls,
    hk_command_rm, hk_command_hooks;

/* Options every command takes: give `{&hk_command_argp}` as a child to its argp and ask afterwards. Adds --collector URL. */
struct argp;
extern const struct argp hk_command_argp;

#endif
