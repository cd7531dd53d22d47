/* hookcli: finds the subcommand and runs it; prints help, manual and completion. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/name_service.h"
#include "base/room.h"
#include "cli/command.h"

const char *argp_program_version = "hookcli " HK_VERSION;

#define ENTRY(name) &hk_command_##name,
static const struct hk_command *const commands[] = {HK_COMMANDS(ENTRY)};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))
static const struct hk_command *const internal[] = {HK_COMMANDS_INTERNAL(ENTRY)};
#define INTERNAL_COUNT (sizeof(internal) / sizeof(internal[0]))

static void help(FILE *output)
{
	fputs("Usage: hookcli COMMAND [OPTION...] [JOB]\n"
	      "Shows what every rank of a job calls, how long it takes and where memory peaks.\n\n",
	      output);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(output, "  %-8s %s\n", commands[i]->manual.name,
			commands[i]->manual.summary);
	}
	fputs("\nStart with: hookcli run -- CMD...\n"
	      "hookcli COMMAND --help shows the options of a command; every long option --x-y is "
	      "also\n"
	      "the variable HOOK_X_Y. JOB is an id, a unique prefix or a directory.\n"
	      "hookcli --manual [COMMAND] | man -l - shows the manual, hookcli --completion is for"
	      "\nbash and zsh.\n",
	      output);
}

static const struct hk_command *find(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(commands[i]->manual.name, name) == 0) {
			return commands[i];
		}
	}
	return NULL;
}

/* Writes the manual page of hookcli or of command NAME, or the completion. The build calls it too,
 * for packages. */
static int write_manual(const char *what, const char *name)
{
	const struct hk_manual_command *list[COMMAND_COUNT];
	struct hk_manual_program program = {
	    .name = "hookcli",
	    .summary = "see what every rank of a distributed job calls",
	    .about = "Shows which CUDA, NCCL, MPI, BLAS or libc calls each rank of a job makes, "
		     "how long they take, who called them and where memory peaks, without a "
		     "rebuild of the job. "
		     "JOB is an id, a unique prefix or a directory; without one it is ./hook-last, "
		     "else the newest of the running collector. Start with: hookcli run -- CMD...",
	    .commands = list,
	    .command_count = COMMAND_COUNT,
	    .exits = "0 done\n"
		     "1 failed, or the input is damaged: what could be read was shown\n"
		     "2 wrong usage\n"
		     "3 no such job or collector",
	    .see = "hookcollector(1)",
	    .examples = "hookcli run -- ./solver input\tTrace a program and sum up what it calls\n"
			"hookcli top\tWatch the job from another terminal\n"
			"hookcli report --format text\tShow all of it after its end",
	};
	const struct hk_command *command = name ? find(name) : NULL;

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		list[i] = &commands[i]->manual;
	}
	if (strcmp(what, "--completion") == 0) {
		hk_manual_write_completion(&program, stdout);
	} else {
		hk_manual_write(&program, command ? &command->manual : NULL, stdout);
	}
	return hk_command_output_close(stdout, name && !command ? HK_EXIT_USAGE : HK_EXIT_DONE);
}

static int unknown(const char *word)
{
	fprintf(stderr, "hookcli: unknown %s '%.64s': hookcli --help lists the commands\n",
		word[0] == '-' ? "option" : "command", word);
	return HK_EXIT_USAGE;
}

/* Runs COMMAND with "hookcli NAME" in place of ARGV[0]. Returns its exit code. */
static int call(const struct hk_command *command, int argc, char **argv)
{
	char name[64];

	snprintf(name, sizeof(name), "hookcli %s", command->manual.name);
	argv[0] = name;
	return command->run(argc, argv);
}

static int run(int argc, char **argv)
{
	hk_log_setup("hookcli", HK_LOG_WARNING);
	argp_err_exit_status = HK_EXIT_USAGE;
	if (argc < 2) {
		help(stderr);
		return HK_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "-?") == 0 || strcmp(argv[1], "help") == 0) {
		if (argc > 2 && find(argv[2])) {
			return call(find(argv[2]), 2, (char *[]){argv[2], (char *)"--help", NULL});
		}
		if (argc > 2) {
			return unknown(argv[2]);
		}
		help(stdout);
		return hk_command_output_close(stdout, HK_EXIT_DONE);
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts(argp_program_version);
		return hk_command_output_close(stdout, HK_EXIT_DONE);
	}
	if (strcmp(argv[1], "--manual") == 0 || strcmp(argv[1], "--completion") == 0) {
		return write_manual(argv[1], argv[2]);
	}
	const struct hk_command *command = find(argv[1]);
	for (size_t i = 0; !command && i < INTERNAL_COUNT; i++) {
		command = strcmp(internal[i]->manual.name, argv[1]) == 0 ? internal[i] : NULL;
	}
	return command ? call(command, argc - 1, argv + 1) : unknown(argv[1]);
}

int main(int argc, char **argv)
{
	hk_name_service_restrict();
	return hk_room_main(run, argc, argv);
}
