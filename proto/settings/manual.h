/* manual.h: manual pages and shell completion, made from the option tables that the programs parse
 * with, so that they agree with --help. Pages are roff (man macros); texts are argp's (glibc): the
 * doc of an argp is split at its '\v'. Errors stay in the FILE (ferror). */
#ifndef HK_SETTINGS_MANUAL_H
#define HK_SETTINGS_MANUAL_H

#include <argp.h>
#include <stddef.h>
#include <stdio.h>

/* Candidates for the value of an option, or for an argument, for completion. */
struct hk_manual_values {
	const char *option;		   /* long name; "": words of the command itself */
	const char *(*word)(size_t index); /* without quotes; NULL after the last */
};

struct hk_manual_command {
	const char *name, *summary;
	const struct argp *argp;
	const char *exits; /* NULL: those of the program */
	const struct hk_manual_values
	    *values;	      /* ended by an entry without an option; NULL: no values */
	const char *examples; /* lines of "COMMAND LINE\tWhat it does" */
};

struct hk_manual_program {
	const char *name, *summary, *about;
	const struct argp *argp; /* for a program without commands; else NULL */
	const struct hk_manual_command *const *commands;
	size_t command_count;
	const char *exits;    /* exit statuses, "NUMBER meaning" on lines of their own */
	const char *see;      /* other pages, "hookcollector(1), ..." */
	const char *examples; /* in the form of a command's */
};

/* The page of PROGRAM, section 1, with a list of its commands; COMMAND: the page of one of them. */
void hk_manual_write(const struct hk_manual_program *program,
		     const struct hk_manual_command *command, FILE *output);

/* A completion for bash (zsh takes it after bashcompinit): commands, their options and the values
 * of these, programs and files, and, where a command or an option takes JOBs, the output of
 * `PROGRAM ls --ids`. */
void hk_manual_write_completion(const struct hk_manual_program *program, FILE *output);

#endif
