#include "collector/model/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/model/http_url.h"
#include "settings/manual.h"
#include "settings/settings.h"

#define PROGRAM "hookcollector"
#define WORKERS_MAX 256u

/* argp finds this symbol by name, so it is not hidden. */
__attribute__((visibility("default"))) const char *argp_program_version = PROGRAM " " HK_VERSION;

/* Stores the value of an option. Returns 0, or -errno if the value is invalid. */
typedef int (*take_function)(struct hk_collector_options *options, const char *value);

struct definition {
	const char *name;
	int letter;	      /* short option, 0: none */
	const char *argument; /* NULL: a switch, its value is "1" */
	const char *help;     /* NULL: not shown */
	take_function take;
	const char *wants; /* description of valid values */
};

/* ---- one function per option ---- */

static int take_store(struct hk_collector_options *options, const char *value)
{
	options->store = value;
	return 0;
}

static int take_listen(struct hk_collector_options *options, const char *value)
{
	options->listen = value;
	return 0;
}

/* Stores ADDRESS:PORT. policy.h decides which addresses need a token. */
static int take_http(struct hk_collector_options *options, const char *value)
{
	const char *colon = strrchr(value, ':');
	char *end = NULL;
	/* Empty: none, whatever a file says. */
	options->http = *value ? value : NULL;
	if (!*value) {
		return 0;
	}
	if (!colon || colon[1] < '0' || colon[1] > '9' || strchr(value, '/')) {
		return -EINVAL;
	}
	unsigned long port = strtoul(colon + 1, &end, 10);
	return *end || port > UINT16_MAX ? -EINVAL : 0;
}

/* Ends the program if URL is that of a stream engine with a password in it, which ps shows. */
static void refuse_password(const char *name, const char *url)
{
	if (strstr(url, "nats://") && strchr(url, '@')) {
		hk_error("--%s takes no password in a URL, which ps shows: --credentials names a "
			 "file with it",
			 name);
		exit(argp_err_exit_status);
	}
}

static int take_upstream(struct hk_collector_options *options, const char *value)
{
	refuse_password("upstream", value);
	/* Empty: none, whatever a file says. */
	options->upstream = *value ? value : NULL;
	return !*value || strstr(value, "://") ? 0 : -EINVAL;
}

static int take_from(struct hk_collector_options *options, const char *value)
{
	refuse_password("from", value);
	/* Empty: none, whatever a file says. */
	options->from = *value ? value : NULL;
	return !*value || strstr(value, "nats://") ? 0 : -EINVAL;
}

static int take_workers(struct hk_collector_options *options, const char *value)
{
	int length = 0;
	int fields = sscanf(value, "%u/%u%n", &options->worker, &options->workers, &length);
	return fields == 2 && !value[length] && options->worker >= 1 &&
		       options->worker <= options->workers && options->workers <= WORKERS_MAX
		   ? 0
		   : -EINVAL;
}

static int take_partition(struct hk_collector_options *options, const char *value)
{
	char *end;
	options->partition = (unsigned)strtoul(value, &end, 10);
	options->one_partition = true;
	return *end || end == value ? -EINVAL : 0;
}

static int take_replay(struct hk_collector_options *options, const char *value)
{
	options->replay = value;
	return *value ? 0 : -EINVAL;
}

static int take_otlp(struct hk_collector_options *options, const char *value)
{
	struct hk_http_url url;
	/* Empty: none, whatever a file says. */
	options->otlp = *value ? value : NULL;
	return *value ? hk_http_url_parse(value, &url) : 0;
}

static int take_otlp_interval(struct hk_collector_options *options, const char *value)
{
	char *end;
	double seconds = strtod(value, &end);
	bool number = end != value && (!*end || strcmp(end, "s") == 0);
	if (!number || !(seconds >= 0.1 && seconds <= 3600)) {
		return -EINVAL;
	}
	options->otlp_interval_ns = (uint64_t)(seconds * 1e9);
	return 0;
}

static int take_otlp_headers(struct hk_collector_options *options, const char *value)
{
	options->otlp_headers = *value ? value : NULL;
	return 0;
}

static int take_otlp_ca(struct hk_collector_options *options, const char *value)
{
	options->otlp_authorities = *value ? value : NULL;
	return 0;
}

static int take_per_node(struct hk_collector_options *options, const char *value)
{
	options->per_node = strcmp(value, "0") != 0;
	return 0;
}

static int take_keep(struct hk_collector_options *options, const char *value)
{
	return hk_keep_parse(value, &options->keep);
}

static int take_trigger(struct hk_collector_options *options, const char *value)
{
	options->trigger_options.conditions = value;
	return 0;
}

static int take_trigger_keep(struct hk_collector_options *options, const char *value)
{
	options->trigger_options.keep = value;
	return 0;
}

static int take_trigger_for(struct hk_collector_options *options, const char *value)
{
	options->trigger_options.raise = value;
	return 0;
}

static int take_trigger_level(struct hk_collector_options *options, const char *value)
{
	options->trigger_options.level = value;
	return 0;
}

static int take_trigger_size(struct hk_collector_options *options, const char *value)
{
	options->trigger_options.size = value;
	return 0;
}

static int take_keep_store(struct hk_collector_options *options, const char *value)
{
	int r = hk_keep_parse_bytes(value, &options->keep_store);
	return r == 0 && options->keep_store == 0 ? -EINVAL : r;
}

static int take_token_file(struct hk_collector_options *options, const char *value)
{
	options->token_file = value;
	return 0;
}

static int take_credentials(struct hk_collector_options *options, const char *value)
{
	options->credentials = value;
	return 0;
}

static int take_tls_cert(struct hk_collector_options *options, const char *value)
{
	options->tls_certificate = value;
	return 0;
}

static int take_tls_key(struct hk_collector_options *options, const char *value)
{
	options->tls_key = value;
	return 0;
}

static int take_tls_ca(struct hk_collector_options *options, const char *value)
{
	options->tls_authorities = value;
	return 0;
}

static int take_quiet(struct hk_collector_options *options, const char *value)
{
	(void)value;
	options->log_level = HK_LOG_ERROR;
	return 0;
}

static int take_verbose(struct hk_collector_options *options, const char *value)
{
	(void)value;
	options->log_level = HK_LOG_DEBUG;
	return 0;
}

static int take_job_dir(struct hk_collector_options *options, const char *value)
{
	const char *equals = strchr(value, '=');
	if (!equals || equals == value || !equals[1]) {
		return -EINVAL;
	}
	free(options->job_key_memory);
	options->job_key_memory = strndup(value, (size_t)(equals - value));
	options->job_key = options->job_key_memory;
	options->job_dir = equals + 1;
	return options->job_key ? 0 : -ENOMEM;
}

static int take_exit_with_job(struct hk_collector_options *options, const char *value)
{
	(void)value;
	options->exit_with_job = true;
	return 0;
}

static int take_ready_fd(struct hk_collector_options *options, const char *value)
{
	char *end;
	options->ready_fd = (int)strtol(value, &end, 10);
	return *end || end == value ? -EINVAL : 0;
}

static const struct definition definitions[] = {
    {"store", 's', "DIR", "Keep job directories in DIR (default: ~/.local/state/hooktrace)",
     take_store, "a directory"},
    {"per-node", 0, NULL,
     "The store is shared by several nodes: write into a directory of this node's own in each "
     "job's",
     take_per_node, NULL},
    {"listen", 'l', "URL", "Answer on URL as well as on the run directory's socket", take_listen,
     "a URL"},
    {"http", 0, "ADDRESS:PORT",
     "Show metrics to Prometheus at http://ADDRESS:PORT/metrics; beyond loopback with TLS and a "
     "token only",
     take_http, "ADDRESS:PORT"},
    {"otlp", 0, "URL",
     "Push metrics by OTLP/HTTP to URL, such as http://localhost:4318 (/v1/metrics is added)",
     take_otlp, "http[s]://HOST[:PORT][/PATH]"},
    {"otlp-interval", 0, "TIME", "Push metrics every TIME (default 15s)", take_otlp_interval,
     "seconds from 0.1s to 3600s"},
    {"otlp-headers", 0, "FILE", "Send the headers of FILE with them, a line 'NAME: VALUE' each",
     take_otlp_headers, "a file"},
    {"otlp-ca", 0, "FILE",
     "Trust the authorities of FILE when pushing to https (default: the system's)", take_otlp_ca,
     "a file"},
    {"upstream", 'u', "URL",
     "Bring what is kept here to the collector at URL, which has the whole job", take_upstream,
     "a URL"},
    {"from", 0, "URL",
     "Be a root that reads what leaves have stored in the stream engine at URL, "
     "nats://HOST[,HOST...]; several may",
     take_from, "nats://HOST[:PORT][,...]"},
    {"workers", 0, "K/N",
     "With --from: be the Kth of N roots, which share the partitions and stand in for each other "
     "(default 1/1)",
     take_workers, "K/N"},
    {"keep", 'k', "SIZE|TIME",
     "Keep the newest records of each job: so many bytes, a number with K, M or G, of the last so "
     "many seconds, a number with s, or all (default 10G)",
     take_keep, "all, a number of seconds with s, or a number with K, M or G"},
    {"trigger", 't', "CONDITION",
     "Keep the records around the moment when CONDITION comes true: 'MPI_* p99>10ms', 'error', "
     "'step>1.5x', 'finding=late-rank', 'signal'; repeats",
     take_trigger, "a condition"},
    {"trigger-keep", 0, "TIME", "Keep the last TIME before a trigger (default 10s)",
     take_trigger_keep, "seconds"},
    {"trigger-for", 0, "TIME", "Keep and raise levels for TIME after a trigger (default 5s)",
     take_trigger_for, "seconds"},
    {"trigger-level", 0, "LEVEL",
     "Raise levels to LEVEL after a trigger: record (default), record+args, record+stack or off",
     take_trigger_level, "a level"},
    {"trigger-size", 0, "SIZE", "Keep at most SIZE bytes of a trigger (default 256M)",
     take_trigger_size, "a size"},
    {"keep-store", 0, "SIZE",
     "Most bytes of all jobs in the store: the oldest finished ones are removed; all or a number "
     "with K, M or G (default a quarter of its file system)",
     take_keep_store, "all, or a number with K, M or G"},
    {"token-file", 0, "FILE", "Answer over TCP only who shows a token of FILE", take_token_file,
     "a file"},
    {"credentials", 0, "FILE",
     "Show a stream engine, nats://, what FILE has: user:password, a token, or credentials of its "
     "own format",
     take_credentials, "a file"},
    {"tls-cert", 0, "FILE", "This collector's certificate", take_tls_cert, "a file"},
    {"tls-key", 0, "FILE", "Its private key", take_tls_key, "a file"},
    {"tls-ca", 0, "FILE", "Trust certificates that those of FILE have signed", take_tls_ca,
     "a file"},
    {"quiet", 'q', NULL, "Say only what went wrong", take_quiet, NULL},
    {"verbose", 'v', NULL, "Say more", take_verbose, NULL},
    {"job-dir", 0, "ID=DIR", NULL, take_job_dir, "ID=DIR"},
    {"exit-with-job", 0, NULL, NULL, take_exit_with_job, NULL},
    {"partition", 0, "N", NULL, take_partition, "a number"},
    {"replay", 0, "KEY", NULL, take_replay, "a job's key"},
    {"ready-fd", 0, "N", NULL, take_ready_fd, "a number"},
};
#define COUNT (sizeof(definitions) / sizeof(definitions[0]))

/* ---- command line, variables and files ---- */

struct command_line {
	const char *values[COUNT]; /* NULL: not given */
	const char *config;
	char *triggers; /* owned: their list, if there are several */
};

#define KEY_BASE 0x100
#define KEY_CONFIG (KEY_BASE + (int)COUNT)

static int key_of(size_t index)
{
	return definitions[index].letter ? definitions[index].letter : KEY_BASE + (int)index;
}

/* Stores VALUE of definition INDEX. The values of --trigger make a list. */
static error_t take_value(struct command_line *line, size_t index, const char *value)
{
	char *list;
	if (definitions[index].take != take_trigger || !line->values[index]) {
		line->values[index] = value;
		return 0;
	}
	if (asprintf(&list, "%s,%s", line->values[index], value) < 0) {
		return ENOMEM;
	}
	free(line->triggers);
	line->values[index] = line->triggers = list;
	return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct command_line *line = state->input;
	if (key == KEY_CONFIG) {
		line->config = argument;
		return 0;
	}
	if (key == ARGP_KEY_ARG) {
		argp_error(state, "what is '%s'? Options begin with --", argument);
		return 0;
	}
	for (size_t i = 0; i < COUNT; i++) {
		if (key == key_of(i)) {
			return take_value(line, i, argument ? argument : "1");
		}
	}
	return ARGP_ERR_UNKNOWN;
}

/* Writes the manual page for packages. The build calls this. */
static int write_manual(const struct argp *parser)
{
	const struct hk_manual_program program = {
	    .name = PROGRAM,
	    .summary = "keep what the traced processes of a machine, or of a cluster, call",
	    .argp = parser,
	    .exits = "0 ended as asked\n1 failed\n2 wrong usage",
	    .see = "hookcli(1)",
	    .examples =
		"hookcollector --store ~/jobs\tKeep what this user's traced processes call in "
		"~/jobs\n"
		"hookcollector --keep 30s --trigger 'MPI_* p99>10ms'\tKeep the seconds around "
		"slow calls of each job\n"
		"hookcollector keygen keys\tMake a certificate and tokens in ./keys\n"
		"hookcollector --listen tls+tcp://0.0.0.0:4440 --token-file keys/tokens "
		"--tls-cert keys/collector.crt --tls-key keys/collector.key\tBe the root of other "
		"nodes' collectors",
	};

	hk_manual_write(&program, NULL, stdout);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}

static void parse_command_line(int argc, char **argv, struct command_line *line)
{
	struct argp_option table[COUNT + 2] = {0};
	for (size_t i = 0; i < COUNT; i++) {
		table[i].name = definitions[i].name;
		table[i].key = key_of(i);
		table[i].arg = definitions[i].argument;
		table[i].doc = definitions[i].help;
		table[i].flags = definitions[i].help ? 0 : OPTION_HIDDEN;
	}
	table[COUNT].name = "config";
	table[COUNT].key = KEY_CONFIG;
	table[COUNT].arg = "FILE";
	table[COUNT].doc = "Read settings from FILE instead of ~/.config/hooktrace.conf";
	const struct argp parser = {
	    .options = table,
	    .parser = parse_option,
	    .args_doc = "\nkeygen DIR\nstream setup|status URL",
	    .doc = "Drains the traced processes of this machine, keeps their records and "
		   "statistics in job directories, and answers hookcli.",
	};
	if (argc == 2 && strcmp(argv[1], "--manual") == 0) {
		exit(write_manual(&parser));
	}
	argp_parse(&parser, argc, argv, 0, NULL, line);
}

/* Returns the value of option NAME on the command line, or NULL. */
static const char *given(const struct command_line *line, const char *name)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (strcmp(definitions[i].name, name) == 0) {
			return line->values[i];
		}
	}
	return NULL;
}

/* Returns the value in force of definition INDEX, or NULL, and its origin. */
static const char *value_of(const struct hk_settings *settings, const struct command_line *line,
			    size_t index, const char **ret_where)
{
	*ret_where = "command line";
	for (size_t i = 0; i < hk_settings_count; i++) {
		if (strcmp(hk_settings_table[i].name, definitions[index].name) == 0) {
			*ret_where = hk_settings_where(settings, i);
			return hk_settings_get(settings, definitions[index].name);
		}
	}
	return line->values[index];
}

static int take_all(struct hk_collector_options *options, const struct command_line *line)
{
	for (size_t i = 0; i < COUNT; i++) {
		const struct definition *definition = &definitions[i];
		if (line->values[i] && hk_settings_set(options->settings, definition->name,
						       line->values[i]) == -ENOMEM) {
			return -ENOMEM;
		}
		const char *where;
		const char *value = value_of(options->settings, line, i, &where);
		int r = value ? definition->take(options, value) : 0;
		if (r == -EINVAL) {
			hk_error("--%s wants %s, not '%s' (from: %s)", definition->name,
				 definition->wants, value, where);
			exit(argp_err_exit_status);
		}
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* Makes the plan of triggers. Exits after a message about a wrong one. Returns 0 or -ENOMEM. */
static int take_triggers(struct hk_collector_options *options)
{
	char why[HK_PLAN_WHY_BYTES];
	struct hk_plan *plan = malloc(sizeof(*plan));
	if (!plan) {
		return -ENOMEM;
	}
	if (hk_plan_parse(&options->trigger_options, plan, why) < 0) {
		hk_error("%s", why);
		exit(argp_err_exit_status);
	}
	options->triggers = plan;
	return 0;
}

/* Reads the settings. CONFIG replaces the user's file, unless it is NULL. */
static struct hk_settings *settings_read(const char *config)
{
	if (!config) {
		return hk_settings_new();
	}
	if (access(config, R_OK) < 0) {
		hk_error("--config %s: %s", config, strerror(errno));
		exit(argp_err_exit_status);
	}
	return hk_settings_new_from(config, HK_SETTINGS_SYSTEM_FILE);
}

int hk_options_parse(int argc, char **argv, struct hk_collector_options *ret_options)
{
	struct command_line line = {0};
	argp_err_exit_status = 2;
	parse_command_line(argc, argv, &line);
	*ret_options = (struct hk_collector_options){.ready_fd = -1, .log_level = HK_LOG_INFO};
	ret_options->settings = settings_read(line.config);
	if (!ret_options->settings) {
		return -ENOMEM;
	}
	const char *complaint = hk_settings_complaint(ret_options->settings);
	if (complaint) {
		hk_warning("%s", complaint);
	}
	int r = take_all(ret_options, &line);
	free(line.triggers);
	if (ret_options->from) {
		/* Files say what the machine's own collector does. */
		ret_options->upstream = given(&line, "upstream");
		ret_options->per_node = given(&line, "per-node") != NULL;
		ret_options->listen = given(&line, "listen");
		ret_options->http = given(&line, "http");
	}
	if (ret_options->replay) {
		ret_options->otlp = NULL;
		ret_options->trigger_options.conditions = NULL;
	}
	if (r == 0 && ret_options->from && (ret_options->upstream || ret_options->per_node)) {
		hk_error("--from excludes --upstream and --per-node: a root reads what leaves "
			 "have brought");
		exit(argp_err_exit_status);
	}
	if (r == 0 && ret_options->per_node && ret_options->upstream) {
		hk_error(
		    "--per-node and --upstream exclude each other: nodes meet in a shared store "
		    "or at a root");
		exit(argp_err_exit_status);
	}
	if (r == 0 && ret_options->workers && !ret_options->from) {
		hk_error("--workers wants --from, the stream engine whose partitions are shared");
		exit(argp_err_exit_status);
	}
	r = r < 0 ? r : take_triggers(ret_options);
	if (ret_options->exit_with_job) {
		/* A collector of one job ignores addresses in files, which are meant for the
		 * machine's collector. */
		ret_options->listen = given(&line, "listen");
		ret_options->http = given(&line, "http");
		ret_options->otlp = given(&line, "otlp");
	}
	if (r < 0) {
		hk_options_free(ret_options);
	}
	return r;
}

void hk_options_free(struct hk_collector_options *options)
{
	free(options->job_key_memory);
	free(options->triggers);
	hk_settings_free(options->settings);
	*options = (struct hk_collector_options){0};
}
