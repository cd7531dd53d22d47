/* hookcli status: shows what the collector does, which jobs it keeps, and where settings come
 * from. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_client.h"
#include "cli/job/collectors.h"
#include "cli/job/job_open.h"
#include "cli/option.h"
#include "cli/target/coverage_table.h"
#include "report/build/build.h"
#include "report/trigger/triggers.h"
#include "report/write/nodes_write.h"
#include "settings/settings.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"

#define OPTION_CONFIG 0x100

struct arguments {
	bool json, config;
};

static const struct argp_option options[] = {
    HK_OPTION_JSON,
    {"config", OPTION_CONFIG, NULL, 0, "Show each setting and where it comes from", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case HK_OPTION_KEY_JSON:
		arguments->json = true;
		return 0;
	case OPTION_CONFIG:
		arguments->config = true;
		return 0;
	case ARGP_KEY_ARG:
		hk_option_no_job(state, "status", argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Show what the collector does and which jobs it keeps.",
    .children = hk_option_children,
};

static int config_write(bool json)
{
	const struct hk_settings *settings = hk_command_settings();
	struct hk_table *table = hk_table_new("<setting|<value:60|<from:80");
	json_t *list = json_array();

	for (size_t i = 0; i < hk_settings_count; i++) {
		const char *name = hk_settings_table[i].name;
		const char *value = hk_settings_get(settings, name);
		const char *where = hk_settings_where(settings, i);
		hk_table_add(table, "%s", name);
		hk_table_add(table, "%s", value ? value : "-");
		hk_table_add(table, "%s", where);
		char *clean = value ? hk_name_utf8(value) : NULL;
		json_array_append_new(list, json_pack("{s:s, s:s?, s:s}", "name", name, "value",
						      clean, "from", where));
		free(clean);
	}
	int r = json ? json_dumpf(list, stdout, JSON_INDENT(1))
		     : hk_table_write(table, stdout, hk_command_colour(stdout));
	fputs(json ? "\n" : "", stdout);
	json_decref(list);
	hk_table_free(table);
	return hk_command_output_close(stdout, r == 0 ? HK_EXIT_DONE : HK_EXIT_FAILED);
}

static json_t *text(const char *value)
{
	char *clean = hk_name_utf8(value);
	json_t *string = clean ? json_string_nocheck(clean) : NULL;

	free(clean);
	return string;
}

static void line(const char *title, const char *value)
{
	char clean[HK_NAME_BYTES(200)];

	hk_name_print(clean, 200, value);
	printf("%-14s %s\n", title, clean);
}

/* Returns the report of a running job so far, or NULL if the job has ended or cannot be read. */
static struct hk_report *running_report(const Hk__Job *job)
{
	struct hk_report *report = NULL;
	struct hk_job opened;

	if (job->closed || hk_job_open(job->id, &opened) != HK_EXIT_DONE) {
		return NULL;
	}
	int r = hk_report_new(opened.snapshot, &report);
	hk_job_close(&opened);
	return r < 0 ? NULL : report;
}

static void coverage_text(const Hk__Job *job)
{
	struct hk_report *report = running_report(job);

	if (report) {
		line("\ncoverage of", job->id);
		hk_coverage_table_write(report, true, stdout);
		hk_report_nodes_write(report, stdout, hk_command_colour(stdout));
		hk_report_triggers_write(report, "", NULL, stdout);
	}
	hk_report_free(report);
}

/* Returns the nodes of a job that report to this collector; none if REPORT is NULL. */
static json_t *nodes_json(const struct hk_report *report)
{
	json_t *nodes = json_array();

	for (size_t i = 0; report && i < report->node_count; i++) {
		json_array_append_new(nodes, hk_report_node_json(&report->nodes[i]));
	}
	return nodes;
}

static json_t *job_json(const Hk__Job *job)
{
	struct hk_report *report = running_report(job);
	json_t *json = json_pack(
	    "{s:o, s:o, s:I, s:I, s:i, s:b, s:i, s:I, s:o, s:o, s:o, s:o, s:o}", "id",
	    text(job->id), "command", text(job->command), "start_unix_ns",
	    (json_int_t)job->start_unix_ns, "duration_ns", (json_int_t)job->duration_ns,
	    "world_size", (int)job->world_size, "closed", (int)job->closed, "processes_live",
	    (int)job->processes_live, "stored_bytes", (json_int_t)job->stored_bytes, "exit",
	    text(job->exit), "directory", text(job->directory), "coverage",
	    report ? hk_coverage_table_json(report) : json_array(), "nodes", nodes_json(report),
	    "triggers", report ? hk_report_triggers_json(report) : json_null());

	hk_report_free(report);
	return json;
}

static json_t *uplink_json(const Hk__Uplink *uplink)
{
	return uplink ? json_pack("{s:o, s:b, s:o, s:I, s:i, s:I}", "url", text(uplink->url),
				  "connected", (int)uplink->connected, "problem",
				  text(uplink->problem), "unsent_bytes",
				  (json_int_t)uplink->unsent_bytes, "unsent_jobs",
				  (int)uplink->unsent_jobs, "shed_records",
				  (json_int_t)uplink->shed_records)
		      : json_null();
}

static void uplink_text(const Hk__Uplink *uplink)
{
	char value[256], size[HK_QUANTITY_BYTES];

	snprintf(value, sizeof(value),
		 "%.100s, %s, %s and %" PRIu32 " ended jobs unsent, %" PRIu64 " records given up",
		 uplink->url, uplink->connected ? "connected" : "not connected",
		 hk_quantity_bytes(size, uplink->unsent_bytes), uplink->unsent_jobs,
		 uplink->shed_records);
	line("upstream", value);
	if (!uplink->connected && *uplink->problem) {
		line("", uplink->problem);
	}
}

static json_t *leaf_json(const Hk__Leaf *leaf)
{
	return json_pack(
	    "{s:o, s:o, s:b, s:I, s:I, s:i, s:I, s:I, s:o}", "host", text(leaf->host), "version",
	    text(leaf->version), "connected", (int)leaf->connected, "since_unix_ns",
	    (json_int_t)leaf->since_unix_ns, "seen_unix_ns", (json_int_t)leaf->seen_unix_ns, "jobs",
	    (int)leaf->jobs, "unsent_bytes", (json_int_t)leaf->unsent_bytes, "shed_records",
	    (json_int_t)leaf->shed_records, "clock_error_ns",
	    leaf->clock_bound_ns ? json_integer((json_int_t)leaf->clock_bound_ns) : json_null());
}

/* Returns the collectors that report to this one. */
static json_t *leaves_json(const Hk__StatusReply *status)
{
	json_t *leaves = json_array();

	for (size_t i = 0; i < status->n_leaves; i++) {
		json_array_append_new(leaves, leaf_json(status->leaves[i]));
	}
	return leaves;
}

static uint64_t ago(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

static int leaves_text(const Hk__StatusReply *status, uint64_t now_ns)
{
	char value[HK_QUANTITY_BYTES];

	if (status->n_leaves == 0) {
		return 0;
	}
	struct hk_table *table =
	    hk_table_new("<leaf:40|<state|>since|>jobs|>clock|>unsent|>given up|<version:24");
	for (size_t i = 0; i < status->n_leaves; i++) {
		const Hk__Leaf *leaf = status->leaves[i];
		uint64_t since = leaf->connected ? leaf->since_unix_ns : leaf->seen_unix_ns;
		hk_table_add(table, "%s", leaf->host);
		hk_table_add(table, "%s", leaf->connected ? "connected" : "silent");
		hk_table_add(table, "%s", hk_quantity_duration(value, ago(now_ns, since)));
		hk_table_add(table, "%" PRIu32, leaf->jobs);
		hk_table_add(table, "%s%s", leaf->clock_bound_ns ? "\302\261" : "",
			     leaf->clock_bound_ns
				 ? hk_quantity_duration(value, leaf->clock_bound_ns)
				 : "unknown");
		hk_table_add(table, "%s", hk_quantity_bytes(value, leaf->unsent_bytes));
		hk_table_add(table, "%" PRIu64, leaf->shed_records);
		hk_table_add(table, "%s", leaf->version);
	}
	puts("");
	int r = hk_table_write(table, stdout, hk_command_colour(stdout));
	hk_table_free(table);
	return r;
}

/* Prints the use of each account, unless there is only one and none of its requests was refused. */
static int accounts_text(const Hk__StatusReply *status)
{
	char held[HK_QUANTITY_BYTES], unsent[HK_QUANTITY_BYTES], values[HK_QUANTITY_BYTES],
	    loop[HK_QUANTITY_BYTES];

	if (status->n_accounts == 0 ||
	    (status->n_accounts == 1 && status->accounts[0]->refused == 0)) {
		return 0;
	}
	struct hk_table *table = hk_table_new("<account:32|>connections|>requests|>answers|>jobs|>"
					      "values|>loop|>refused|<last refused for:48");
	for (size_t i = 0; i < status->n_accounts; i++) {
		const Hk__Account *account = status->accounts[i];
		hk_table_add(table, "%s", account->name);
		hk_table_add(table, "%" PRIu32, account->connections);
		hk_table_add(table, "%s", hk_quantity_bytes(held, account->held_bytes));
		hk_table_add(table, "%s", hk_quantity_bytes(unsent, account->unsent_bytes));
		hk_table_add(table, "%" PRIu32, account->jobs);
		hk_table_add(table, "%s", hk_quantity_bytes(values, account->values_bytes));
		hk_table_add(table, "%s", hk_quantity_duration(loop, account->loop_ns));
		hk_table_add(table, "%" PRIu64, account->refused);
		hk_table_add(table, "%s", account->why);
	}
	puts("");
	int r = hk_table_write(table, stdout, hk_command_colour(stdout));
	hk_table_free(table);
	return r;
}

static json_t *accounts_json(const Hk__StatusReply *status)
{
	json_t *accounts = json_array();

	for (size_t i = 0; i < status->n_accounts; i++) {
		const Hk__Account *account = status->accounts[i];
		json_array_append_new(
		    accounts,
		    json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "name",
			      text(account->name), "connections", (json_int_t)account->connections,
			      "held_bytes", (json_int_t)account->held_bytes, "unsent_bytes",
			      (json_int_t)account->unsent_bytes, "values_bytes",
			      (json_int_t)account->values_bytes, "jobs", (json_int_t)account->jobs,
			      "loop_ns", (json_int_t)account->loop_ns, "refused",
			      (json_int_t)account->refused, "why", text(account->why)));
	}
	return accounts;
}

static int status_json(const Hk__StatusReply *status, const struct hk_collectors *all)
{
	json_t *others = json_array();

	for (size_t i = 1; i < all->count; i++) {
		json_array_append_new(others, text(all->url[i]));
	}
	json_t *jobs = json_array();

	for (size_t i = 0; i < status->n_jobs; i++) {
		json_array_append_new(jobs, job_json(status->jobs[i]));
	}
	json_t *root = json_pack(
	    "{s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, "
	    "s:o, s:o, s:o, s:o}",
	    "pid", (json_int_t)status->pid, "version", text(status->version), "url",
	    text(status->url), "listen", text(status->listen), "http", text(status->http),
	    "turned_away", (json_int_t)status->turned_away, "run_directory",
	    text(status->run_directory), "store", text(status->store), "start_unix_ns",
	    (json_int_t)status->start_unix_ns, "segments", (json_int_t)status->segments,
	    "incompatible", (json_int_t)status->incompatible, "refused",
	    (json_int_t)status->refused, "cpu_ns", (json_int_t)status->cpu_ns, "drained_records",
	    (json_int_t)status->drained_records, "stored_bytes", (json_int_t)status->stored_bytes,
	    "jobs", jobs, "upstream", uplink_json(status->uplink), "leaves", leaves_json(status),
	    "accounts", accounts_json(status), "others", others);
	int r = root ? json_dumpf(root, stdout, JSON_INDENT(1)) : -1;
	puts("");
	json_decref(root);
	return r == 0 ? HK_EXIT_DONE : HK_EXIT_FAILED;
}

static int status_text(const Hk__StatusReply *status)
{
	char value[256], up[HK_QUANTITY_BYTES], cpu[HK_QUANTITY_BYTES], size[HK_QUANTITY_BYTES];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	uint64_t age = ago(now_ns, status->start_unix_ns);
	snprintf(value, sizeof(value), "pid %" PRIu32 ", version %.40s, up %s, %s CPU (%.2f %%)",
		 status->pid, status->version, hk_quantity_duration(up, age),
		 hk_quantity_duration(cpu, status->cpu_ns),
		 age ? 100.0 * (double)status->cpu_ns / (double)age : 0);
	line("collector", value);
	line("address", status->url);
	if (*status->listen) {
		snprintf(value, sizeof(value), "%.160s, %" PRIu64 " turned away", status->listen,
			 status->turned_away);
		line("listening on", value);
	}
	if (*status->http) {
		line("metrics", status->http);
	}
	line("run directory", status->run_directory);
	line("store", status->store);
	snprintf(value, sizeof(value),
		 "%" PRIu32 " segments, %" PRIu32 " incompatible, %" PRIu32 " refused",
		 status->segments, status->incompatible, status->refused);
	line("attached", value);
	snprintf(value, sizeof(value), "%" PRIu64 " records, %s", status->drained_records,
		 hk_quantity_bytes(size, status->stored_bytes));
	line("kept", value);
	if (status->uplink) {
		uplink_text(status->uplink);
	}
	struct hk_table *table =
	    hk_table_new("<job:40|<state|>ranks|>live|>time|>size|<command:48");
	for (size_t i = 0; i < status->n_jobs; i++) {
		const Hk__Job *job = status->jobs[i];
		hk_table_add(table, "%s", job->id);
		hk_table_add(table, "%s", job->closed ? job->exit : "running");
		hk_table_add(table, "%" PRId32, job->world_size);
		hk_table_add(table, "%" PRIu32, job->processes_live);
		hk_table_add(table, "%s", hk_quantity_duration(up, job->duration_ns));
		hk_table_add(table, "%s", hk_quantity_bytes(size, job->stored_bytes));
		hk_table_add(table, "%s", job->command);
	}
	int r = leaves_text(status, now_ns);
	r = r < 0 ? r : accounts_text(status);
	if (status->n_jobs > 0 && r == 0) {
		puts("");
		r = hk_table_write(table, stdout, hk_command_colour(stdout));
	}
	hk_table_free(table);
	for (size_t i = 0; i < status->n_jobs && r == 0; i++) {
		coverage_text(status->jobs[i]);
	}
	return r == 0 ? HK_EXIT_DONE : HK_EXIT_FAILED;
}

/* Shows the state of collector number AT of ALL. Returns an exit code. */
static int show(const struct hk_collectors *all, size_t at, bool json)
{
	Hk__StatusRequest what = HK__STATUS_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	request.what_case = HK__REQUEST__WHAT_STATUS;
	request.status = &what;
	int code = hk_client_request(all->url[at], &request, &response);
	if (code != HK_EXIT_DONE) {
		return code;
	}
	if (!response->status) {
		hk_error("cannot read the collector's answer: it has no status (use hookcli and "
			 "hookcollector of one version)");
		code = HK_EXIT_FAILED;
	} else {
		if (strcmp(response->status->version, HK_VERSION) != 0) {
			hk_warning("this is hookcli %s, the collector is %.40s", HK_VERSION,
				   response->status->version);
		}
		code = json ? status_json(response->status, all) : status_text(response->status);
	}
	hk__response__free_unpacked(response, NULL);
	return code;
}

static int run(int argc, char **argv)
{
	static struct hk_collectors collectors;
	struct arguments arguments = {0};
	int code = HK_EXIT_DONE;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return HK_EXIT_USAGE;
	}
	if (arguments.config) {
		return config_write(arguments.json);
	}
	hk_collectors_find(&collectors);
	for (size_t i = 0; i < collectors.count && code == HK_EXIT_DONE; i++) {
		if (i > 0 && arguments.json) {
			break; /* one document, whose "others" lists them */
		}
		fputs(i > 0 ? "\n" : "", stdout);
		code = show(&collectors, i, arguments.json);
	}
	if (collectors.count == 0) {
		code = hk_client_failed(hk_collectors_default(), -ECONNREFUSED);
	}
	return hk_command_output_close(stdout, code);
}

static const char examples[] =
    "hookcli status\tShow what the collector does\n"
    "hookcli status --config\tShow the settings and where each comes from";

const struct hk_command hk_command_status = {
    {"status", "show what the collector does and where settings come from", &argp, NULL, NULL,
     examples},
    run};
