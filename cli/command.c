#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/atomic_file.h"
#include "settings/settings.h"
#include "wire/access.h"

struct hk_settings *hk_command_settings(void)
{
	static struct hk_settings *settings;

	if (!settings) {
		settings = hk_settings_new();
		if (!settings) {
			hk_error("out of memory");
			exit(HK_EXIT_FAILED);
		}
		if (hk_settings_complaint(settings)) {
			hk_warning("%s", hk_settings_complaint(settings));
		}
	}
	return settings;
}

const char *hk_command_setting(const char *name)
{
	return hk_settings_get(hk_command_settings(), name);
}

int hk_command_setting_add(const char *name, const char *value, bool *given)
{
	struct hk_settings *settings = hk_command_settings();
	char *list;

	if (!*given) {
		*given = true;
		return hk_settings_set(settings, name, value);
	}
	if (asprintf(&list, "%s,%s", hk_settings_get(settings, name), value) < 0) {
		return -ENOMEM;
	}
	int r = hk_settings_set(settings, name, list);
	free(list);
	return r;
}

enum option_key {
	OPTION_COLLECTOR = 0x1000,
	OPTION_TOKEN_FILE,
	OPTION_TLS_CA,
	OPTION_TLS_CERT,
	OPTION_TLS_KEY,
};

static const struct argp_option options[] = {
    {"collector", OPTION_COLLECTOR, "URL", 0,
     "Ask the collector at URL (ipc://PATH, tcp://127.0.0.1:PORT, tls+tcp://HOST:PORT)", 1},
    {"token-file", OPTION_TOKEN_FILE, "FILE", 0, "Authenticate with the token in FILE", 1},
    {"tls-ca", OPTION_TLS_CA, "FILE", 0, "Trust the certificate in FILE, or those it has signed",
     1},
    {"tls-cert", OPTION_TLS_CERT, "FILE", OPTION_HIDDEN, NULL, 1},
    {"tls-key", OPTION_TLS_KEY, "FILE", OPTION_HIDDEN, NULL, 1},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	for (const struct argp_option *option = options; option->name; option++) {
		if (option->key != key) {
			continue;
		}
		if (key == OPTION_COLLECTOR &&
		    hk_access_url(argument).transport == HK_TRANSPORT_UNKNOWN) {
			argp_error(state,
				   "--collector '%s' is not of the form ipc://PATH, "
				   "tcp://127.0.0.1:PORT or tls+tcp://HOST:PORT",
				   argument);
		}
		return -hk_settings_set(hk_command_settings(), option->name, argument);
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp hk_command_argp = {.options = options, .parser = parse};

static struct hk_atomic_file partial; /* the one file that a command writes */

static FILE *output_open(const char *path)
{
	int fd = hk_atomic_file_open(&partial, path);

	/* Pipes and devices are written in place, and so are files in a directory where this user
	 * cannot create one. */
	if (fd == -ENOTSUP || fd == -EACCES || fd == -EPERM) {
		return fopen(path, "we");
	}
	errno = fd < 0 ? -fd : 0;
	FILE *output = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd >= 0 && !output) {
		close(fd);
		hk_atomic_file_discard(&partial);
	}
	return output;
}

FILE *hk_command_output(const char *path)
{
	if (!path || strcmp(path, "-") == 0) {
		return stdout;
	}
	FILE *output = output_open(path);
	if (!output) {
		hk_error("cannot write %s: %s", path, strerror(errno));
	}
	return output;
}

int hk_command_output_close(FILE *output, int code)
{
	bool failed = ferror(output) != 0;

	failed |= (output == stdout ? fflush(output) : fclose(output)) != 0;
	if (!failed && output != stdout && partial.begun) {
		int rc = hk_atomic_file_publish(&partial);
		failed = rc < 0;
		errno = -rc;
	}
	if (failed && errno != EPIPE) {
		hk_error("%s: %s", partial.begun ? "nothing was written" : "output is incomplete",
			 strerror(errno));
	}
	hk_atomic_file_discard(&partial);
	return failed ? HK_EXIT_FAILED : code;
}

void hk_command_output_fail(FILE *output, const char *what, int rc)
{
	/* The caller only knows that a write failed: another failing write gives the reason. */
	if (rc == -EIO && (fputc('\n', output) == EOF || fflush(output) == EOF)) {
		rc = -errno;
	}
	if (rc != -EPIPE) {
		hk_error("%s is incomplete: %s", what, strerror(-rc));
	}
	hk_command_output_discard(output);
}

void hk_command_output_discard(FILE *output)
{
	if (output != stdout) {
		fclose(output);
	}
	hk_atomic_file_discard(&partial);
}

unsigned hk_command_columns(FILE *output)
{
	const char *columns = getenv("COLUMNS");
	long wanted = columns ? strtol(columns, NULL, 10) : 0;
	struct winsize size;

	if (wanted > 0 && wanted < USHRT_MAX) {
		return (unsigned)wanted;
	}
	return isatty(fileno(output)) && ioctl(fileno(output), TIOCGWINSZ, &size) == 0 ? size.ws_col
										       : 0;
}

bool hk_command_colour(FILE *output)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(fileno(output)) && !(none && *none) &&
	       !(terminal && strcmp(terminal, "dumb") == 0);
}
