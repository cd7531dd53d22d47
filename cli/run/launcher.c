#include "cli/run/launcher.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/target/run_capture.h"
#include "cli/target/sanitizer.h"
#include "text/name.h"

#define VERSION_TIMEOUT_MS 5000
#define PRELOAD "LD_PRELOAD="
#define SANITIZER HK_SANITIZER_VARIABLE "="

/* Names of Open MPI's launcher, which others use too, with or without an ending such as
 * ".openmpi". */
static const char *const names[] = {"mpirun", "mpiexec", "orterun"};

/* Returns the environment without LD_PRELOAD: `mpirun --version` is no process of the job. Returns
 * NULL without memory. */
static char **environment_bare(void)
{
	size_t count = 0, used = 0;

	while (environ[count]) {
		count++;
	}
	char **bare = calloc(count + 1, sizeof(*bare));
	for (size_t i = 0; bare && i < count; i++) {
		if (strncmp(environ[i], PRELOAD, strlen(PRELOAD)) != 0) {
			bare[used++] = environ[i];
		}
	}
	return bare;
}

static bool is_open_mpi(const char *program)
{
	const char *const arguments[] = {program, "--version", NULL};
	const char *base = hk_name_base(program);
	bool named = false;
	char text[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);
		named |= strncmp(base, names[i], length) == 0 &&
			 (base[length] == '\0' || base[length] == '.');
	}
	if (!named) {
		return false;
	}
	char **environment = environment_bare();
	int r = environment
		    ? hk_capture(arguments, environment, VERSION_TIMEOUT_MS, text, sizeof(text))
		    : -ENOMEM;
	free(environment);
	return r == 0 && (strstr(text, "Open MPI") || strstr(text, "OpenRTE"));
}

static bool begins(const char *argument, const char *start)
{
	return strncmp(argument, start, strlen(start)) == 0;
}

/* Returns ARGUMENT with the user's value of LD_PRELOAD or ASAN_OPTIONS joined with hookcli's.
 * Returns NULL for another argument. */
static char *joined(const char *argument, const char *agent)
{
	char *value = NULL, *result = NULL;

	if (begins(argument, PRELOAD)) {
		return asprintf(&result, PRELOAD "%s:%s", agent, argument + strlen(PRELOAD)) < 0
			   ? NULL
			   : result;
	}
	if (begins(argument, SANITIZER)) {
		value = hk_sanitizer_options(argument + strlen(SANITIZER));
	}
	if (value && asprintf(&result, SANITIZER "%s", value) < 0) {
		result = NULL;
	}
	free(value);
	return result;
}

/* Returns whether ARGUMENTS give VARIABLE a value, by -x VARIABLE=VALUE. */
static bool is_chosen(char *const *arguments, const char *variable)
{
	size_t length = strlen(variable);

	for (size_t i = 1; arguments[i]; i++) {
		if (strcmp(arguments[i - 1], "-x") == 0 &&
		    strncmp(arguments[i], variable, length) == 0 && arguments[i][length] == '=') {
			return true;
		}
	}
	return false;
}

int hk_launcher_forward(const char *program, char **arguments, const char *const *variables,
			const char *agent, char ***ret_arguments)
{
	size_t count = 0, extra = 0, used = 0;

	if (!is_open_mpi(program)) {
		*ret_arguments = arguments;
		return 0;
	}
	while (arguments[count]) {
		count++;
	}
	while (variables[extra]) {
		extra++;
	}
	char **result = calloc(count + 2 * extra + 1, sizeof(*result));
	if (!result) {
		return -ENOMEM;
	}
	result[used++] = arguments[0];
	for (size_t i = 0; i < extra; i++) {
		if (!is_chosen(arguments, variables[i])) {
			result[used++] = (char *)"-x";
			result[used++] = (char *)variables[i];
		}
	}
	for (size_t i = 1; i < count; i++) {
		bool exported = strcmp(arguments[i - 1], "-x") == 0;
		char *both = exported ? joined(arguments[i], agent) : NULL;
		result[used++] = both ? both : arguments[i];
	}
	*ret_arguments = result;
	return 0;
}

void hk_launcher_free(char **forwarded, char **arguments)
{
	if (forwarded == arguments) {
		return;
	}
	for (size_t i = 0; forwarded[i]; i++) {
		size_t k = 0;
		while (arguments[k] && arguments[k] != forwarded[i]) {
			k++;
		}
		/* An argument with a value that the user's arguments lack was allocated by
		 * joined(). */
		if (!arguments[k] &&
		    (begins(forwarded[i], PRELOAD) || begins(forwarded[i], SANITIZER))) {
			free(forwarded[i]);
		}
	}
	free(forwarded);
}
