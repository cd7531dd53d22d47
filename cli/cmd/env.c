/* hookcli env: prints the lines that put the agent into a job without `hookcli run`, one set per
 * launcher. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rundir.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/run/env_collectors.h"
#include "cli/run/job_start.h"
#include "cli/run/session.h"
#include "cli/shell_word.h"
#include "cli/target/agent_library.h"
#include "cli/target/hooks_option.h"
#include "cli/target/job_settings.h"
#include "settings/settings.h"

#define VARIABLES_MAX 20
#define OPTION_START 0x100

/* Variables that the agent reads. Some are settings of hookcli too: the agent reads these from the
 * environment only. */
static const struct {
	const char *variable;
	const char *setting;   /* NULL: only the variable sets it */
	const char *otherwise; /* default; NULL: omitted if not set */
} wanted[] = {
    {"HOOK_HOOKS", "hooks", "auto"},
    {"HOOK_LEVEL", "level", NULL},
    {"HOOK_JOB", "job", NULL},
    {"HOOK_ON_FULL", "on-full", NULL},
    {"HOOK_BUDGET", "budget", NULL},
    {"HOOK_FROM", NULL, NULL},
    {"HOOK_RUN_DIR", NULL, NULL},
    {"HOOK_LOG", NULL, NULL},
    {"HOOK_COMPAT", NULL, NULL},
    {"HOOK_KEEP_SEGMENT", NULL, NULL},
    {"HOOK_DEVICE_TIME", "device-time", NULL},
    {"HOOK_CUPTI", NULL, NULL},
    {"HOOK_MSPTI", NULL, NULL},
    {"HOOK_NCCL_EVENTS", NULL, NULL},
};

struct variable {
	const char *name, *value;
};

struct environment {
	char agent[PATH_MAX], preload[2 * PATH_MAX], run_directory[PATH_MAX];
	struct variable variables[VARIABLES_MAX]; /* LD_PRELOAD first */
	size_t count;
	struct hk_job_start job; /* with --start */
	bool started;
};

static void print_shell(const struct variable *variable)
{
	printf("%s=", variable->name);
	hk_shell_word_print(variable->value);
}

static void print_options(const struct environment *environment, const char *option)
{
	for (size_t i = 0; i < environment->count; i++) {
		printf("%s ", option);
		print_shell(&environment->variables[i]);
		putchar(' ');
	}
}

static void print_plain(const struct environment *environment)
{
	for (size_t i = 0; i < environment->count; i++) {
		fputs("export ", stdout);
		print_shell(&environment->variables[i]);
		putchar('\n');
	}
}

static void print_mpirun(const struct environment *environment)
{
	puts("# Open MPI");
	fputs("mpirun ", stdout);
	print_options(environment, "-x");
	puts("COMMAND");
	puts("# MPICH");
	fputs("mpiexec ", stdout);
	for (size_t i = 0; i < environment->count; i++) {
		printf("-genv %s ", environment->variables[i].name);
		hk_shell_word_quote(environment->variables[i].value, "'\\''");
		putchar(' ');
	}
	puts("COMMAND");
}

/* Prints --export for LD_PRELOAD only, the first variable: --export splits values at commas. An
 * exported LD_PRELOAD would load the agent into srun too. */
static void print_srun(const struct environment *environment)
{
	for (size_t i = 1; i < environment->count; i++) {
		fputs("export ", stdout);
		print_shell(&environment->variables[i]);
		putchar('\n');
	}
	fputs("srun --export=ALL,", stdout);
	print_shell(&environment->variables[0]);
	puts(" COMMAND");
}

/* Prints variables that reach only the processes that torchrun starts: torchrun itself is no
 * rank. */
static void print_torchrun(const struct environment *environment)
{
	puts("# COMMAND with its interpreter: python3 SCRIPT...; options of torchrun before "
	     "--no_python");
	fputs("torchrun --no_python env ", stdout);
	for (size_t i = 0; i < environment->count; i++) {
		print_shell(&environment->variables[i]);
		putchar(' ');
	}
	puts("COMMAND");
}

static void print_docker(const struct environment *environment)
{
	puts("# hookcollector runs on the host as the same user; the run directory is shared with "
	     "it");
	printf("docker run --user %u:%u --shm-size=1g -v %s:%s:ro -v %s:%s -e HOOK_RUN_DIR=%s ",
	       (unsigned int)getuid(), (unsigned int)getgid(), environment->agent,
	       environment->agent, environment->run_directory, environment->run_directory,
	       environment->run_directory);
	print_options(environment, "-e");
	puts("IMAGE COMMAND");
}

static void print_k8s(const struct environment *environment)
{
	puts("# into the container of the job; a hookcollector beside it mounts the same run "
	     "directory");
	puts("env:");
	/* A directory below the volume, because the volume's own belongs to root and is writable
	 * for all. */
	puts("- name: HOOK_RUN_DIR\n  value: /run/hooktrace/user");
	for (size_t i = 0; i < environment->count; i++) {
		if (strcmp(environment->variables[i].name, "HOOK_RUN_DIR") != 0) {
			printf("- name: %s\n  value: ", environment->variables[i].name);
			hk_shell_word_quote(environment->variables[i].value, "''");
			putchar('\n');
		}
	}
	puts("volumeMounts:");
	puts("- {name: hooktrace-run, mountPath: /run/hooktrace}");
	printf("- {name: hooktrace-agent, mountPath: %s, readOnly: true}\n", environment->agent);
	puts("# into the pod");
	puts("volumes:");
	puts("- name: hooktrace-run\n  emptyDir: {medium: Memory, sizeLimit: 1Gi}");
	printf("- name: hooktrace-agent\n  hostPath: {path: %s, type: File}\n", environment->agent);
}

static const struct launcher {
	const char *name;
	void (*print)(const struct environment *environment);
	/* Prefix that runs a command once on each node; NULL: print no lines about collectors. */
	const char *everywhere;
} launchers[] = {
    {"mpirun", print_mpirun, "mpirun --map-by ppr:1:node "},
    {"srun", print_srun, "srun --overlap -N \"$SLURM_NNODES\" -n \"$SLURM_NNODES\" "},
    {"torchrun", print_torchrun, ""},
    {"docker", print_docker, NULL},
    {"k8s", print_k8s, NULL},
};

#define LAUNCHER_COUNT (sizeof(launchers) / sizeof(launchers[0]))

static int find_launcher(const char *name, const struct launcher **ret_launcher)
{
	for (size_t i = 0; i < LAUNCHER_COUNT; i++) {
		if (strcmp(launchers[i].name, name) == 0) {
			*ret_launcher = &launchers[i];
			return 0;
		}
	}
	return -ENOENT;
}

static int collect(struct environment *environment)
{
	const char *loaded = getenv("LD_PRELOAD");
	int rc = hk_agent_library_find(hk_command_setting("agent"), environment->agent);

	if (rc == -EINVAL) {
		hk_error("LD_PRELOAD cannot name %s: a path with a space or colon",
			 environment->agent);
		return HK_EXIT_FAILED;
	}
	if (rc < 0) {
		hk_error(HK_AGENT_LIBRARY_ABSENT);
		return HK_EXIT_FAILED;
	}
	if (hk_rundir_path(0, environment->run_directory) < 0) {
		hk_error("HOOK_RUN_DIR is no usable path");
		return HK_EXIT_FAILED;
	}
	snprintf(environment->preload, sizeof(environment->preload), "%s%s%s", environment->agent,
		 loaded && *loaded ? ":" : "", loaded ? loaded : "");
	environment->variables[environment->count++] =
	    (struct variable){"LD_PRELOAD", environment->preload};
	environment->variables[environment->count++] =
	    (struct variable){HK_NVTX_VARIABLE, environment->agent};
	const char *next = hk_nvtx_next(environment->agent);
	if (next) {
		environment->variables[environment->count++] =
		    (struct variable){HK_NVTX_NEXT, next};
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const char *value = wanted[i].setting ? hk_command_setting(wanted[i].setting)
						      : getenv(wanted[i].variable);

		value = value && *value ? value : wanted[i].otherwise;
		if (value) {
			environment->variables[environment->count++] =
			    (struct variable){wanted[i].variable, value};
		}
	}
	if (environment->started) {
		environment->variables[environment->count++] =
		    (struct variable){HK_SESSION_NESTED, environment->job.id};
	}
	const char *plugin = getenv(HK_AGENT_NCCL_VARIABLE);
	plugin = plugin ? plugin : hk_agent_nccl_plugin(environment->agent);
	if (plugin) {
		environment->variables[environment->count++] =
		    (struct variable){HK_AGENT_NCCL_VARIABLE, plugin};
	}
	return HK_EXIT_DONE;
}

struct arguments {
	const struct launcher *launcher;
	int start; /* a process, or 0 */
};

/* Starts a job for process PID, and makes its collector and its id those of the lines. Returns an
 * exit code. */
static int start(struct environment *environment, int pid)
{
	struct hk_job_start *job = &environment->job;
	char *hooks = hk_hooks_option_list();

	if (!hooks || hk_job_settings_check() < 0) {
		free(hooks);
		return HK_EXIT_FAILED;
	}
	int r = hk_settings_set(hk_command_settings(), "hooks", hooks);
	free(hooks);
	if (r == 0 && hk_job_start(pid, job) < 0) {
		hk_error("%s", job->why);
		return HK_EXIT_ABSENT;
	}
	r = r < 0 ? r : hk_settings_set(hk_command_settings(), "job", job->id);
	if (r < 0 || setenv("HOOK_RUN_DIR", job->run_directory, 1) < 0) {
		hk_error("out of memory");
		return HK_EXIT_FAILED;
	}
	environment->started = true;
	if (*job->shown) {
		printf("# the job is %s\n", job->shown);
	}
	return HK_EXIT_DONE;
}

static int process_number(struct argp_state *state, const char *text)
{
	char *end;

	errno = 0;
	unsigned long number = strtoul(text, &end, 10);
	if (errno || *end || *text < '1' || *text > '9' || number > INT_MAX) {
		argp_error(state, "invalid --start '%s': expected the id of a process", text);
	}
	return (int)number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	if (key == OPTION_START) {
		arguments->start = process_number(state, argument);
		return 0;
	}
	if (key != ARGP_KEY_ARG) {
		return ARGP_ERR_UNKNOWN;
	}
	if (arguments->launcher) {
		argp_error(state, "one launcher at a time: '%s' is too much", argument);
	} else if (find_launcher(argument, &arguments->launcher) < 0) {
		argp_error(state, "no launcher '%s'; there are mpirun, srun, torchrun, docker, k8s",
			   argument);
	}
	return 0;
}

static const struct argp_option options[] = {
    {"start", OPTION_START, "PID", 0,
     "Start a collector if none runs, and open a job that ends with process PID", 0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[mpirun|srun|torchrun|docker|k8s]",
    .doc = "Print the exact lines that load the agent into a job; without a launcher, those for a "
	   "shell. HOOK_* variables that are set now are passed on. For mpirun, srun and torchrun "
	   "also the lines that start collectors, on one node or on several. `LAUNCHER hookcli run "
	   "COMMAND` needs none of this.",
    .children = hk_option_children,
};

static int run(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct environment environment = {.count = 0};
	int rc;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments)) {
		return HK_EXIT_USAGE;
	}
	const struct launcher *launcher = arguments.launcher;
	rc = arguments.start ? start(&environment, arguments.start) : HK_EXIT_DONE;
	rc = rc == HK_EXIT_DONE ? collect(&environment) : rc;
	if (rc != HK_EXIT_DONE) {
		return rc;
	}
	if (launcher && launcher->everywhere) {
		rc = hk_env_collectors_print(launcher->everywhere, environment.run_directory);
	}
	if (launcher) {
		launcher->print(&environment);
	} else {
		print_plain(&environment);
	}
	return hk_command_output_close(stdout, rc);
}

static const char *launcher_word(size_t index)
{
	return index < LAUNCHER_COUNT ? launchers[index].name : NULL;
}

static const struct hk_manual_values values[] = {{"", launcher_word}, {0}};

static const char examples[] =
    "hookcli env mpirun\tPrint the lines that load the agent without hookcli run\n"
    "eval \"$(hookcli env)\"\tLoad the agent into what this shell starts\n"
    "eval \"$(hookcli env --start $$)\"\tThe same, with a job that ends with this shell";

const struct hk_command hk_command_env = {
    {"env", "print the lines that load the agent without `hookcli run`", &argp, NULL, values,
     examples},
    run};
