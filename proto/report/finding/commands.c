#include "report/finding/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/name.h"

#define JOB_COLUMNS 240
#define PROGRAM "hookcli "
#define FURTHER "then "

char *hk_commands_job(const char *id)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._:@%+=/,-";
	char shown[HK_NAME_BYTES(JOB_COLUMNS)], *job = NULL;

	hk_name_print(shown, JOB_COLUMNS, id);
	if (*id == '\0' || *id == '-' || strcmp(shown, id) != 0 || strchr(id, '\'')) {
		return NULL;
	}
	bool is_plain = strspn(id, plain) == strlen(id);
	return asprintf(&job, is_plain ? "%s" : "'%s'", id) < 0 ? NULL : job;
}

/* Returns how many bytes of TEXT, which begins behind "hookcli ", are a command that looks at a
 * job; 0: none. */
static size_t command_length(const char *text)
{
	static const char *const commands[] = {"report", "stacks", "log", "export",
					       "why",	 "top",	   "open"};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		size_t length = strlen(commands[i]);
		if (strncmp(text, commands[i], length) == 0 && strcspn(text, " ;,") == length) {
			return length;
		}
	}
	return 0;
}

/* Whether PLACE in TEXT is behind "then ". */
static bool is_further(const char *text, const char *place)
{
	size_t length = strlen(FURTHER);

	return (size_t)(place - text) >= length && strncmp(place - length, FURTHER, length) == 0;
}

char *hk_commands_name(const char *text, const char *job)
{
	char *named = NULL;
	size_t size;
	FILE *output = open_memstream(&named, &size);
	const char *from = text, *place;

	while (output && (place = strstr(from, PROGRAM)) != NULL) {
		const char *command = place + strlen(PROGRAM);
		size_t length = is_further(text, place) ? 0 : command_length(command);
		fprintf(output, "%.*s", (int)(command + length - from), from);
		if (length > 0) {
			fprintf(output, " %s", job);
		}
		from = command + length;
	}
	if (!output) {
		return NULL;
	}
	fputs(from, output);
	if (fclose(output) != 0) {
		free(named);
		return NULL;
	}
	return named;
}
