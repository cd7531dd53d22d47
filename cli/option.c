#include "option.h"

#include "hooks/hook.h"
#include "hooks/names.h"

const struct argp_child hk_option_children[] = {{&hk_command_argp, 0, NULL, 0}, {0}};

void hk_option_only(struct argp_state *state, const char *kind, const char *word,
		    const char **ret_word)
{
	if (*ret_word) {
		argp_error(state, "one %s at a time: '%s' is too much", kind, word);
	}
	*ret_word = word;
}

const char *hk_option_level_word(size_t index)
{
	return index < HK_LEVEL_ARGS ? hk_level_name((uint8_t)(index + HK_LEVEL_OFF)) : NULL;
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
