#include "cli/target/hooks_option.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/identity.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/target/hooks_text.h"
#include "hooks/hook.h"
#include "hooks/names.h"
#include "hooks/shipped.h"
#include "settings/settings.h"

#define OPTION_HOOKS 0x1100
#define BAD_LINES_TOLD 5u /* most bad lines that are shown per file */

static const struct argp_option options[] = {
    {"hooks", OPTION_HOOKS, "NAME|FILE|PATTERN", 0,
     "What to hook: auto (default), a shipped name, a hooks file, a lib:symbol pattern; repeats",
     0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
	static bool given;

	(void)state;
	return key == OPTION_HOOKS ? -hk_command_setting_add("hooks", value, &given)
				   : ARGP_ERR_UNKNOWN;
}

const struct argp hk_hooks_option_argp = {.options = options, .parser = parse};

static bool is_shipped(const char *name)
{
	for (unsigned i = 0; i < hk_shipped_file_count; i++) {
		if (strcmp(hk_shipped_name(i), name) == 0) {
			return true;
		}
	}
	return strcmp(name, "auto") == 0;
}

static bool ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), tail = strlen(ending);

	return length >= tail && strcmp(text + length - tail, ending) == 0;
}

const char *hk_hooks_option_word(size_t index)
{
	if (index == 0) {
		return "auto";
	}
	for (unsigned i = 0; i < hk_shipped_file_count; i++) {
		/* Denied functions cannot be requested. */
		index -= strcmp(hk_shipped_name(i), "deny") != 0;
		if (index == 0) {
			return hk_shipped_name(i);
		}
	}
	return NULL;
}

static void shipped_list(char *text, size_t size)
{
	const char *word;
	size_t used = 0;

	for (size_t i = 0; (word = hk_hooks_option_word(i)) && used < size; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? " " : "", word);
	}
}

static void tell_bad_pattern(void *context, const char *file, uint32_t line, const char *message)
{
	const char *remark = strstr(message, " (line ignored)");

	(void)file;
	(void)line;
	hk_error("--hooks '%s': %.*s", (const char *)context,
		 (int)(remark ? (size_t)(remark - message) : strlen(message)), message);
}

/* Checks a pattern. The effect of a bad pattern would only show at the end, as missing calls. */
static int check_pattern(const char *item)
{
	struct hk_hooks_report report = {tell_bad_pattern, (void *)item};
	struct hk_hook_file file;
	void *memory;

	if (hk_hooks_text_parse("--hooks", item, strlen(item), &report, &file, &memory) < 0) {
		return -ENOMEM;
	}
	free(memory);
	return file.bad_lines ? -EINVAL : 0;
}

/* Returns whether this process warns of bad lines: the other ranks of a launcher would repeat
 * that. */
static bool is_first_rank(void)
{
	struct hk_identity identity;

	hk_identity_read(environ, &identity);
	return identity.rank <= 0;
}

/* Prints a warning for each of the first five lines: a file that is no hooks file has many. */
static void warn_of_line(void *context, const char *file, uint32_t line, const char *message)
{
	unsigned *count = context;

	if (++*count <= BAD_LINES_TOLD) {
		hk_warning("%s:%u: %s", file, line, message);
	}
}

/* Checks a hooks file. Bad lines are no error, because the agent uses the other lines. Returns 0 or
 * -errno. */
static int check_file(const char *path)
{
	unsigned bad_lines = 0;
	const struct hk_hooks_report report = {warn_of_line, &bad_lines};
	struct hk_hook_file file;
	void *memory;
	char *text;
	size_t size;
	int r = hk_hooks_text_read(path, &text, &size);

	if (r < 0) {
		return r;
	}
	r = hk_hooks_text_parse(path, text, size, is_first_rank() ? &report : NULL, &file, &memory);
	free(text);
	if (r < 0) {
		return r;
	}
	free(memory);
	if (bad_lines > BAD_LINES_TOLD) {
		hk_warning("%s: %u more lines ignored; `hookcli hooks %s` shows them", path,
			   bad_lines - BAD_LINES_TOLD, path);
	}
	return 0;
}

/* Writes one item of --hooks as the agent reads it: a file by its absolute path. Returns 0 or
 * -errno. */
static int hooks_item(const char *item, FILE *output)
{
	char path[PATH_MAX], shipped[256];
	bool file = ends_with(item, ".hooks") || (strchr(item, '/') && !strchr(item, ':'));

	if (!file && (is_shipped(item) || strchr(item, ':'))) {
		fputs(item, output);
		return is_shipped(item) ? 0 : check_pattern(item);
	}
	if (!file) {
		shipped_list(shipped, sizeof(shipped));
		hk_error(
		    "no hooks '%s': shipped are %s; else a path ending in .hooks or lib:symbol",
		    item, shipped);
		return -EINVAL;
	}
	int r = realpath(item, path) ? check_file(path) : -errno;
	if (r < 0) {
		hk_error("hooks file %s: %s", item, strerror(-r));
		return r;
	}
	if (strchr(path, ',')) {
		hk_error("hooks file %s: a comma in its path would cut the list of hooks", path);
		return -EINVAL;
	}
	fputs(path, output);
	return 0;
}

char *hk_hooks_option_list(void)
{
	char *copy = strdup(hk_command_setting("hooks")), *rest = copy, *list = NULL, *item;
	size_t size;
	FILE *output = open_memstream(&list, &size);
	int r = copy && output ? 0 : -ENOMEM;
	bool first = true;

	while (r == 0 && (item = strsep(&rest, ","))) {
		item += strspn(item, " ");
		if (!*item) {
			continue;
		}
		fputs(first ? "" : ",", output);
		first = false;
		r = hooks_item(item, output);
	}
	if (output) {
		fclose(output);
	}
	free(copy);
	if (r < 0) {
		free(list);
		return NULL;
	}
	return list;
}

int hk_hooks_option_level(const char *value)
{
	char *copy = strdup(value), *rest = copy, *item;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (item = strsep(&rest, ","))) {
		const char *equals = strrchr(item, '=');
		uint32_t stack_rate;
		int level = hk_level_parse(equals ? equals + 1 : item, &stack_rate);
		r = level > HK_LEVEL_DEFAULT && level <= HK_LEVEL_STACK ? 0 : -EINVAL;
	}
	free(copy);
	if (r < 0) {
		hk_error(
		    "unknown level '%s': off count sample time record record+args record+stack "
		    "record+stack:N/s",
		    value);
	}
	return r;
}
