/* option.h: options of several commands, so that these parse them and report errors in the same
 * way. A command puts HK_OPTION_* into its table, and its parser passes the value on. For an
 * invalid value all functions end the program with HK_EXIT_USAGE, after a line on stderr. */
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

/* The only child of a command's argp: options of every command. */
extern const struct argp_child hk_option_children[];

/* Refuses NAME, for a new job, unless it has 1 to 100 bytes and no slash. */
void hk_option_job_name(struct argp_state *state, const char *name);

/* Sets *ret_word to WORD of the command line. A command takes only one word of KIND ("job"). */
void hk_option_only(struct argp_state *state, const char *kind, const char *word,
		    const char **ret_word);

/* Returns the index of WORD, the value of --NAME, among the words of AT, which returns NULL after
 * the last. */
size_t hk_option_word(struct argp_state *state, const char *name, const char *(*at)(size_t index),
		      const char *word);

/* Returns TEXT, the value of --NAME, as a number from LEAST to 1000000. */
unsigned long hk_option_number(struct argp_state *state, const char *name, const char *text,
			       unsigned long least);

/* Returns the number of a trigger, the value of --trigger. */
uint32_t hk_option_trigger(struct argp_state *state, const char *number);

/* Returns level number INDEX of --level, or NULL after the last. */
const char *hk_option_level_word(size_t index);

/* Rejects WORD, because COMMAND takes no job. */
void hk_option_no_job(struct argp_state *state, const char *command, const char *word);

/* Parses LIST, the value of --ranks. */
void hk_option_ranks(struct argp_state *state, const char *list, struct hk_option_ranks *ret_ranks);

/* Returns TIME, the value of --NAME, in ns: 0 or more. */
int64_t hk_option_time(struct argp_state *state, const char *name, const char *time);

#endif
