/* hookcli doctor: checks whether tracing will work here, names the fix if not, and shows what the
 * agent reaches in a given program. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/target/checks.h"
#include "cli/target/coverage_table.h"
#include "cli/target/hook_checks.h"
#include "cli/target/hooks_option.h"
#include "cli/target/program.h"
#include "cli/target/trial_run.h"
#include "report/build/build.h"
#include "text/name.h"

#define HOOKS_MAX 8u	  /* most findings about --hooks */
#define PROGRAM "program" /* name of the check of the command */

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

static const struct argp_child children[] = {
    {&hk_hooks_option_argp, 0, NULL, 0}, {&hk_command_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[-- CMD...]",
    .doc =
	"Check whether tracing works on this machine. With CMD, run it with every call counted and "
	"show what the agent reached in each of its processes.",
    .children = children,
};

/* Results of the checks: of the machine, of the program if there is a command, and of its processes
 * after a trial run. */
struct diagnosis {
	struct hk_check_result *machine; /* array of hk_check_count */
	struct hk_check_result program;
	struct hk_check_result hooks[HOOKS_MAX]; /* findings about --hooks */
	size_t hook_count;
	bool command, executable;
	const struct hk_report *report;
	int status; /* exit status of the command */
};

/* ---- text ---- */

static void print_check(const char *name, const struct hk_check_result *result)
{
	printf("%-8s %-14s %s\n", hk_check_word(result->state), name, result->detail);
	if (*result->fix) {
		printf("%-8s %-14s -> %s\n", "", "", result->fix);
	}
}

static void print_checks(const struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < hk_check_count; i++) {
		print_check(hk_checks[i].name, &diagnosis->machine[i]);
	}
	if (diagnosis->command) {
		print_check(PROGRAM, &diagnosis->program);
	}
	for (size_t i = 0; i < diagnosis->hook_count; i++) {
		print_check("hooks", &diagnosis->hooks[i]);
	}
}

static void print_coverage(const struct diagnosis *diagnosis)
{
	const struct hk_report *report = diagnosis->report;

	printf("\ncoverage of %zu process%s, exit %d\n", report->process_count,
	       report->process_count == 1 ? "" : "es", diagnosis->status);
	hk_coverage_table_write(report, false, stdout);
	if (report->process_count) {
		puts("not seen: what constructors of the libraries that a program is linked with "
		     "call, for these run before the agent's");
		return;
	}
	puts(diagnosis->program.state == HK_CHECK_FAILED
		 ? "no process loaded the agent: see '" PROGRAM "' above"
		 : "no process loaded the agent: HOOK_DISABLE is set, or what the command starts "
		   "is static, drops LD_PRELOAD or runs in a sandbox that kills");
}

/* ---- JSON ---- */

static int set_text(json_t *object, const char *key, const char *text)
{
	char *clean = hk_name_utf8(text);
	int rc = clean ? json_object_set_new(object, key, json_string(clean)) : -1;

	free(clean);
	return rc;
}

static json_t *check_json(const char *name, const struct hk_check_result *result)
{
	json_t *entry = json_object();

	set_text(entry, "name", name);
	set_text(entry, "state", hk_check_word(result->state));
	set_text(entry, "detail", result->detail);
	set_text(entry, "fix", result->fix);
	return entry;
}

static json_t *checks_json(const struct diagnosis *diagnosis)
{
	json_t *list = json_array();

	for (size_t i = 0; i < hk_check_count; i++) {
		json_array_append_new(list, check_json(hk_checks[i].name, &diagnosis->machine[i]));
	}
	if (diagnosis->command) {
		json_array_append_new(list, check_json(PROGRAM, &diagnosis->program));
	}
	for (size_t i = 0; i < diagnosis->hook_count; i++) {
		json_array_append_new(list, check_json("hooks", &diagnosis->hooks[i]));
	}
	return list;
}

static int write_json(const struct diagnosis *diagnosis)
{
	json_t *root = json_object();
	int rc;

	json_object_set_new(root, "checks", checks_json(diagnosis));
	if (diagnosis->report) {
		json_object_set_new(root, "exit", json_integer(diagnosis->status));
		json_object_set_new(root, "processes", hk_coverage_table_json(diagnosis->report));
	}
	rc = json_dumpf(root, stdout, JSON_INDENT(2));
	json_decref(root);
	putchar('\n');
	return rc;
}

/* ---- the command ---- */

/* Checks everything without running the command, which may be NULL. Returns HK_EXIT_FAILED if
 * tracing will not work. */
static int examine(struct diagnosis *diagnosis, const char *command)
{
	int worst = HK_EXIT_DONE;
	char path[PATH_MAX];

	for (size_t i = 0; i < hk_check_count; i++) {
		hk_checks[i].check(&diagnosis->machine[i]);
		worst = diagnosis->machine[i].state == HK_CHECK_FAILED ? HK_EXIT_FAILED : worst;
	}
	if (command) {
		diagnosis->command = true;
		diagnosis->executable = hk_program_check(command, path, &diagnosis->program) == 0;
		if (diagnosis->program.state == HK_CHECK_OK) {
			diagnosis->hook_count = hk_hook_checks_run(
			    hk_command_setting("hooks"), path, diagnosis->hooks, HOOKS_MAX);
		}
		worst = diagnosis->program.state == HK_CHECK_FAILED ? HK_EXIT_FAILED : worst;
	}
	return worst;
}

static int diagnose(struct diagnosis *diagnosis, const struct arguments *arguments)
{
	char *const *command = arguments->command;
	struct hk_report *report = NULL;
	int rc = 0, worst = examine(diagnosis, command ? command[0] : NULL);

	if (!arguments->json) {
		print_checks(diagnosis);
		fflush(stdout);
	}
	if (diagnosis->executable) {
		rc = hk_trial_run(command, &diagnosis->status, &report);
		diagnosis->report = report;
	}
	if (rc < 0 && rc != -ECHILD) {
		hk_error("cannot try %s: %s", command[0], strerror(-rc));
	}
	if (arguments->json) {
		write_json(diagnosis);
	} else if (report) {
		print_coverage(diagnosis);
	}
	hk_report_free(report);
	return hk_command_output_close(stdout, rc < 0 ? HK_EXIT_FAILED : worst);
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {.json = false};
	struct diagnosis diagnosis = {.machine =
					  calloc(hk_check_count, sizeof(*diagnosis.machine))};
	int code = HK_EXIT_USAGE;

	char *hooks = NULL;

	if (diagnosis.machine && !argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments) &&
	    (hooks = hk_hooks_option_list())) {
		code = diagnose(&diagnosis, &arguments);
	}
	free(hooks);
	free(diagnosis.machine);
	return code;
}

static const struct hk_manual_values values[] = {{"hooks", hk_hooks_option_word}, {0}};

static const char examples[] =
    "hookcli doctor\tCheck this machine\n"
    "hookcli doctor -- ./solver\tShow what the agent reaches in a program";

const struct hk_command hk_command_doctor = {
    {"doctor", "check whether tracing works here, and what it reaches in a program", &argp, NULL,
     values, examples},
    run};
