#include "settings/settings.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USER_FILE "hooktrace.conf"
#define VARIABLE_BYTES 64

const struct hk_setting hk_settings_table[] = {
    {"collector", "URL", NULL, "collector to ask: ipc://PATH, tls+tcp://HOST:PORT"},
    {"store", "DIR", NULL, "where job directories are kept"},
    {"per-node", NULL, NULL, "a directory per node in each job's, in a store that nodes share"},
    {"keep", "SIZE", "10G", "how much of each job to keep: all, <n>s, <n>{K,M,G}"},
    {"trigger", "LIST", NULL,
     "conditions at which records are kept: 'MPI_* p99>10ms', error, signal"},
    {"trigger-keep", "TIME", "10s", "time before a trigger that is kept"},
    {"trigger-for", "TIME", "5s", "time after a trigger that is kept, with raised levels"},
    {"trigger-level", "LEVEL", "record", "level that a trigger raises others to"},
    {"trigger-size", "SIZE", "256M", "most bytes that a trigger keeps"},
    {"keep-store", "SIZE", NULL, "how much of all jobs in the store: all, <n>{K,M,G}"},
    {"listen", "URL", NULL, "address the collector answers on"},
    {"http", "ADDRESS:PORT", NULL, "address the collector shows metrics at"},
    {"otlp", "URL", NULL, "address the collector pushes metrics to, by OTLP/HTTP"},
    {"otlp-interval", "TIME", "15s", "time between two pushes of metrics"},
    {"otlp-headers", "FILE", NULL, "headers of these pushes, lines of NAME: VALUE"},
    {"otlp-ca", "FILE", NULL, "authorities that are trusted when pushing to https, PEM"},
    {"upstream", "URL", NULL,
     "collector of the whole job, which this machine's brings its part to"},
    {"token-file", "FILE", NULL, "what is shown, or asked for, over TCP"},
    {"credentials", "FILE", NULL, "what a stream engine, nats://, is shown"},
    {"tls-cert", "FILE", NULL, "certificate of the collector, PEM"},
    {"tls-key", "FILE", NULL, "private key of the collector, PEM"},
    {"tls-ca", "FILE", NULL, "whose signatures on certificates are trusted, PEM"},
    {"hooks", "LIST", "auto", "what to hook: shipped names, files, lib:symbol patterns"},
    {"level", "LEVEL", NULL, "detail: off count sample time record"},
    {"job", "NAME", NULL, "id of the job"},
    {"on-full", "drop|wait:MS", "drop", "what a full buffer does"},
    {"budget", "PERCENT|off", "2", "share of a process's time that tracing may cost"},
    {"device-time", NULL, NULL, "time of devices, from their own tracing library"},
    {"quiet", NULL, NULL, "no summary at the end"},
    {"format", "FORMAT", NULL, "format of report or export"},
    {"by", "WHAT", "function", "what a text report sums by"},
    {"delay", "SEC", "1", "time between two pictures of top"},
    {"rows", "N", NULL, "most rows of a table"},
    {"agent", "FILE", NULL, "the agent library to preload"},
};
const size_t hk_settings_count = sizeof(hk_settings_table) / sizeof(hk_settings_table[0]);

#define COUNT (sizeof(hk_settings_table) / sizeof(hk_settings_table[0]))

struct value {
	char *text;
	enum hk_settings_source source;
};

struct hk_settings {
	struct value values[COUNT];
	char variables[COUNT][VARIABLE_BYTES];
	char files[2][PATH_MAX]; /* by source: system, user */
	char complaint[PATH_MAX + 128];
	bool failed;
	/* while a file is being read */
	enum hk_settings_source reading;
};

static int find(const char *name)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (strcmp(hk_settings_table[i].name, name) == 0) {
			return (int)i;
		}
	}
	return -ENOENT;
}

static int put(struct hk_settings *settings, int index, const char *text,
	       enum hk_settings_source source)
{
	char *copy = strdup(text);

	if (!copy) {
		settings->failed = true;
		return -ENOMEM;
	}
	free(settings->values[index].text);
	settings->values[index] = (struct value){copy, source};
	return 0;
}

static const char *file_of(const struct hk_settings *settings, enum hk_settings_source source)
{
	return settings->files[source == HK_SETTINGS_USER];
}

/* One key of a configuration file; section names are ignored. */
static int take(void *context, const char *section, const char *name, const char *value)
{
	struct hk_settings *settings = context;
	int index = find(name);

	(void)section;
	if (index < 0) {
		if (!*settings->complaint) {
			snprintf(settings->complaint, sizeof(settings->complaint),
				 "%s: unknown setting '%.60s'",
				 file_of(settings, settings->reading), name);
		}
		return 1;
	}
	return put(settings, index, value, settings->reading) == 0;
}

static void file_read(struct hk_settings *settings, enum hk_settings_source source)
{
	const char *path = file_of(settings, source);
	FILE *file = *path ? fopen(path, "re") : NULL;

	if (!file) {
		return;
	}
	settings->reading = source;
	int line = ini_parse_file(file, take, settings);
	bool unreadable = ferror(file) != 0;
	fclose(file);
	if (*settings->complaint) {
		return;
	}
	if (unreadable) {
		snprintf(settings->complaint, sizeof(settings->complaint), "%s: cannot be read",
			 path);
	} else if (line > 0) {
		snprintf(settings->complaint, sizeof(settings->complaint),
			 "%s:%d: not NAME = VALUE", path, line);
	}
}

static void variables_read(struct hk_settings *settings)
{
	for (size_t i = 0; i < COUNT; i++) {
		char *variable = settings->variables[i];
		snprintf(variable, VARIABLE_BYTES, "HOOK_%s", hk_settings_table[i].name);
		for (char *at = variable; *at; at++) {
			*at = (char)(*at == '-' ? '_' : toupper((unsigned char)*at));
		}
		const char *text = getenv(variable);
		if (text && *text) {
			put(settings, (int)i, text, HK_SETTINGS_VARIABLE);
		}
	}
}

struct hk_settings *hk_settings_new_from(const char *user_file, const char *system_file)
{
	struct hk_settings *settings = calloc(1, sizeof(*settings));

	if (!settings) {
		return NULL;
	}
	snprintf(settings->files[0], PATH_MAX, "%s", system_file ? system_file : "");
	snprintf(settings->files[1], PATH_MAX, "%s", user_file ? user_file : "");
	file_read(settings, HK_SETTINGS_SYSTEM);
	file_read(settings, HK_SETTINGS_USER);
	variables_read(settings);
	return settings->failed ? hk_settings_free(settings) : settings;
}

struct hk_settings *hk_settings_new(void)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char path[PATH_MAX] = "";

	if (config && *config == '/') {
		snprintf(path, sizeof(path), "%s/" USER_FILE, config);
	} else if (home && *home) {
		snprintf(path, sizeof(path), "%s/.config/" USER_FILE, home);
	}
	return hk_settings_new_from(path, HK_SETTINGS_SYSTEM_FILE);
}

struct hk_settings *hk_settings_free(struct hk_settings *settings)
{
	for (size_t i = 0; settings && i < COUNT; i++) {
		free(settings->values[i].text);
	}
	free(settings);
	return NULL;
}

const char *hk_settings_get(const struct hk_settings *settings, const char *name)
{
	int index = find(name);

	if (index < 0) {
		return NULL;
	}
	const char *text = settings->values[index].text;
	return text ? text : hk_settings_table[index].fallback;
}

int hk_settings_set(struct hk_settings *settings, const char *name, const char *value)
{
	int index = find(name);

	return index < 0 ? index : put(settings, index, value, HK_SETTINGS_FLAG);
}

enum hk_settings_source hk_settings_source_of(const struct hk_settings *settings, size_t index)
{
	return settings->values[index].source;
}

const char *hk_settings_where(const struct hk_settings *settings, size_t index)
{
	switch (settings->values[index].source) {
	case HK_SETTINGS_SYSTEM:
	case HK_SETTINGS_USER:
		return file_of(settings, settings->values[index].source);
	case HK_SETTINGS_VARIABLE:
		return settings->variables[index];
	case HK_SETTINGS_FLAG:
		return "command line";
	default:
		return "default";
	}
}

const char *hk_settings_complaint(const struct hk_settings *settings)
{
	return *settings->complaint ? settings->complaint : NULL;
}
