/* hookcli doctor: whether tracing will work here, what to do if not, and what the agent reaches in
 * a given program. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>

#include "base/log.h"
#include "checks.h"
#include "command.h"
#include "report/name.h"
#include "trial.h"

#define COMMAND_COLUMNS 28

struct arguments {
	bool json;
	char **command; /* NULL: machine only */
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Write JSON", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	(void)argument;
	switch (key) {
	case 'j':
		arguments->json = true;
		return 0;
	case ARGP_KEY_ARGS:
		arguments->command = state->argv + state->next;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&hk_command_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[-- CMD...]",
    .doc =
	"Check whether tracing works on this machine. With CMD, run it with every call counted and "
	"show what the agent reached in each of its processes.",
    .children = children,
};

/* ---- text ---- */

static void print_checks(const struct hk_check_result *results)
{
	for (size_t i = 0; i < hk_check_count; i++) {
		printf("%-8s %-14s %s\n", hk_check_word(results[i].state), hk_checks[i].name,
		       results[i].detail);
		if (*results[i].fix) {
			printf("%-8s %-14s -> %s\n", "", "", results[i].fix);
		}
	}
}

/* The command line from its program's base name on. */
static const char *without_directory(const char *command)
{
	const char *slash = memrchr(command, '/', strcspn(command, " "));

	return slash ? slash + 1 : command;
}

static void print_process(const struct hk_report_process *process)
{
	char command[HK_NAME_BYTES(COMMAND_COLUMNS)], text[HK_NAME_BYTES(200)];

	hk_name_print(command, COMMAND_COLUMNS, without_directory(process->command));
	printf("%5d %-8s %8u %-28s %7u %7u %7u\n", process->rank, process->role, process->pid,
	       command, process->objects, process->slots_patched, process->slots_refused);
	if (strcmp(process->agent, "on") != 0) {
		hk_name_print(text, 200, process->note);
		printf("      agent %s: %s\n", process->agent, text);
	}
	if (*process->coverage) {
		hk_name_print(text, 200, process->coverage);
		printf("      %s\n", text);
	}
}

static void print_coverage(const struct hk_report *report, int status)
{
	printf("\ncoverage of %zu processes, exit %d\n", report->process_count, status);
	printf("%5s %-8s %8s %-28s %7s %7s %7s\n", "RANK", "ROLE", "PID", "COMMAND", "OBJECTS",
	       "PATCHED", "REFUSED");
	for (size_t i = 0; i < report->process_count; i++) {
		print_process(&report->processes[i]);
	}
	if (!report->process_count) {
		puts("no process loaded the agent: a static program, or one that drops LD_PRELOAD");
	}
}

/* ---- JSON ---- */

static int set_text(json_t *object, const char *key, const char *text)
{
	char *clean = hk_name_utf8(text);
	int rc = clean ? json_object_set_new(object, key, json_string(clean)) : -1;

	free(clean);
	return rc;
}

static json_t *checks_json(const struct hk_check_result *results)
{
	json_t *list = json_array();

	for (size_t i = 0; i < hk_check_count; i++) {
		json_t *entry = json_object();

		set_text(entry, "name", hk_checks[i].name);
		set_text(entry, "state", hk_check_word(results[i].state));
		set_text(entry, "detail", results[i].detail);
		set_text(entry, "fix", results[i].fix);
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *coverage_json(const struct hk_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *process = &report->processes[i];
		json_t *entry =
		    json_pack("{s:i,s:I,s:I,s:I,s:I}", "rank", (int)process->rank, "pid",
			      (json_int_t)process->pid, "objects", (json_int_t)process->objects,
			      "slots_patched", (json_int_t)process->slots_patched, "slots_refused",
			      (json_int_t)process->slots_refused);

		set_text(entry, "role", process->role);
		set_text(entry, "command", process->command);
		set_text(entry, "agent", process->agent);
		set_text(entry, "note", process->note);
		set_text(entry, "notes", process->coverage);
		json_array_append_new(list, entry);
	}
	return list;
}

static int write_json(const struct hk_check_result *results, const struct hk_report *report,
		      int status)
{
	json_t *root = json_object();
	int rc;

	json_object_set_new(root, "checks", checks_json(results));
	if (report) {
		json_object_set_new(root, "exit", json_integer(status));
		json_object_set_new(root, "processes", coverage_json(report));
	}
	rc = json_dumpf(root, stdout, JSON_INDENT(2));
	json_decref(root);
	putchar('\n');
	return rc;
}

/* ---- the command ---- */

static int run(int argc, char **argv)
{
	struct arguments arguments = {.json = false};
	struct hk_check_result *results = calloc(hk_check_count, sizeof(*results));
	struct hk_report *report = NULL;
	int status = 0, rc = 0, worst = HK_EXIT_DONE;

	if (!results || argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments)) {
		free(results);
		return HK_EXIT_USAGE;
	}
	for (size_t i = 0; i < hk_check_count; i++) {
		hk_checks[i].look(&results[i]);
		worst = results[i].state == HK_CHECK_FAILED ? HK_EXIT_FAILED : worst;
	}
	if (!arguments.json) {
		print_checks(results);
		fflush(stdout);
	}
	if (arguments.command) {
		rc = hk_trial_run(arguments.command, &status, &report);
	}
	if (rc < 0 && rc != -ECHILD) {
		hk_error("cannot try %s: %s", arguments.command[0], strerror(-rc));
	}
	if (arguments.json) {
		write_json(results, report, status);
	} else if (report) {
		print_coverage(report, status);
	}
	hk_report_free(report);
	free(results);
	return rc < 0 || fflush(stdout) ? HK_EXIT_FAILED : worst;
}

const struct hk_command hk_command_doctor = {
    .name = "doctor",
    .summary = "check whether tracing works here, and what it reaches in a program",
    .run = run,
};
