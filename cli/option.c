#include "cli/option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/hook.h"
#include "hooks/names.h"

#define JOB_NAME_BYTES 100u
#define KNOWN_BYTES 256u
#define NUMBER_MOST 1000000ul

const struct argp_child hk_option_children[] = {{&hk_command_argp, 0, NULL, 0}, {0}};

void hk_option_job_name(struct argp_state *state, const char *name)
{
	if (!*name || strlen(name) > JOB_NAME_BYTES || strchr(name, '/')) {
		argp_error(state, "--job '%s' is no name for a job", name);
	}
}

void hk_option_only(struct argp_state *state, const char *kind, const char *word,
		    const char **ret_word)
{
	if (*ret_word) {
		argp_error(state, "one %s at a time: '%s' is too much", kind, word);
	}
	*ret_word = word;
}

size_t hk_option_word(struct argp_state *state, const char *name, const char *(*at)(size_t index),
		      const char *word)
{
	char known[KNOWN_BYTES] = "";
	size_t used = 0;

	for (size_t i = 0; at(i); i++) {
		if (strcmp(at(i), word) == 0) {
			return i;
		}
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 i == 0	     ? ""
					 : at(i + 1) ? ", "
						     : " or ",
					 at(i));
		used = used < sizeof(known) ? used : sizeof(known) - 1;
	}
	argp_error(state, "--%s '%s' is unknown; try %s", name, word, known);
	return 0;
}

unsigned long hk_option_number(struct argp_state *state, const char *name, const char *text,
			       unsigned long least)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value < least || value > NUMBER_MOST) {
		argp_error(state, "--%s '%s' is no number from %lu to %lu", name, text, least,
			   NUMBER_MOST);
	}
	return value;
}

const char *hk_option_level_word(size_t index)
{
	return index < HK_LEVEL_STACK ? hk_level_name((uint8_t)(index + HK_LEVEL_OFF)) : NULL;
}

void hk_option_no_job(struct argp_state *state, const char *command, const char *word)
{
	argp_error(state, "'%s' is too much: %s takes no job", word, command);
}

void hk_option_ranks(struct argp_state *state, const char *list, struct hk_option_ranks *ret_ranks)
{
	int count = hk_span_ranks(list, ret_ranks->spans);

	if (count < 0) {
		argp_error(state, "--ranks '%s' is no list of ranks; try 0,4-7", list);
	}
	ret_ranks->count = (size_t)count;
}

int64_t hk_option_time(struct argp_state *state, const char *name, const char *time)
{
	int64_t ns = 0;

	if (hk_span_time(time, &ns) < 0) {
		argp_error(state, "--%s '%s' is no time; try 1.5s", name, time);
	}
	return ns;
}

uint32_t hk_option_trigger(struct argp_state *state, const char *number)
{
	return (uint32_t)hk_option_number(state, "trigger", number, 1);
}
