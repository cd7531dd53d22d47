/* option.h: options that several commands have, so that they read and complain the same everywhere.
 *
 * A command puts HK_OPTION_* into its table, and its parser hands the value on. All of them end the
 * program with HK_EXIT_USAGE, after a line on stderr, where a value makes no sense.
 */
#ifndef HK_CLI_OPTION_H
#define HK_CLI_OPTION_H

#include <argp.h>
#include <stddef.h>

#include "cli/command.h"
#include "cli/span.h"

enum hk_option_key {
	HK_OPTION_KEY_JSON = 0x1100,
	HK_OPTION_KEY_RANKS,
};

#define HK_OPTION_JSON                                            \
	{                                                         \
		"json", HK_OPTION_KEY_JSON, NULL, 0, "As JSON", 0 \
	}
#define HK_OPTION_OUTPUT                                                                \
	{                                                                               \
		"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0 \
	}
#define HK_OPTION_RANKS                                                                       \
	{                                                                                     \
		"ranks", HK_OPTION_KEY_RANKS, "LIST", 0, "Only these ranks, such as 0,4-7", 0 \
	}

struct hk_option_ranks {
	struct hk_span_ranks spans[HK_SPAN_RANKS_MAX];
	size_t count; /* 0: all processes */
};

/* The only child of a command's argp: what every command has. */
extern const struct argp_child hk_option_children[];

/* WORD of the command line is the one thing of KIND ("job") that the command takes. */
void hk_option_only(struct argp_state *state, const char *kind, const char *word,
		    const char **ret_word);

/* WORD of --NAME as its place among those of AT, which answers NULL after the last. */
size_t hk_option_word(struct argp_state *state, const char *name, const char *(*at)(size_t index),
		      const char *word);

/* TEXT of --NAME as a number from LEAST to 1000000. */
unsigned long hk_option_number(struct argp_state *state, const char *name, const char *text,
			       unsigned long least);

/* Level number INDEX that --level takes; NULL after the last. */
const char *hk_option_level_word(size_t index);

/* WORD is one too many: COMMAND takes no job. */
void hk_option_no_job(struct argp_state *state, const char *command, const char *word);

/* LIST as of --ranks. */
void hk_option_ranks(struct argp_state *state, const char *list, struct hk_option_ranks *ret_ranks);

/* TIME of --NAME in ns, 0 or more. */
int64_t hk_option_time(struct argp_state *state, const char *name, const char *time);

#endif
