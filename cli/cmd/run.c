/* hookcli run: runs a command under the agent, with a collector that stores its records, and prints
 * a summary at the end. Exits with the command's status, 128+n for signal n. Exits with 125 for an
 * error of hookcli, 126 if the command cannot be executed, 127 if it does not exist. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/run/command_process.h"
#include "cli/run/launcher.h"
#include "cli/run/session.h"
#include "cli/run/shortage.h"
#include "cli/run/signal_guard.h"
#include "cli/run/summary.h"
#include "cli/run/upload_wait.h"
#include "cli/target/agent_library.h"
#include "cli/target/hooks_option.h"
#include "cli/target/job_settings.h"
#include "cli/target/program.h"
#include "cli/target/sanitizer.h"
#include "hooks/hook.h"
#include "hooks/names.h"
#include "settings/settings.h"
#include "text/name.h"

#define EXIT_OURS 125
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

enum {
	OPTION_LEVEL = 0x100,
	OPTION_STORE,
	OPTION_JOB,
	OPTION_ON_FULL,
	OPTION_BUDGET,
	OPTION_UPSTREAM,
	OPTION_KEEP,
	OPTION_DEVICE_TIME,
	OPTION_TRIGGER,
	OPTION_TRIGGER_KEEP,
	OPTION_TRIGGER_FOR,
	OPTION_TRIGGER_LEVEL,
	OPTION_TRIGGER_SIZE,
};

static const struct argp_option options[] = {
    {"level", OPTION_LEVEL, "LEVEL|PATTERN=LEVEL", 0,
     "Set the detail of all or some functions: off, count, sample, time, record (default), "
     "record+args, record+stack, record+stack:N/s (at most N stacks a second); repeats",
     0},
    {"store", OPTION_STORE, "DIR", 0, "Store the job in DIR, using a private collector", 0},
    {"job", OPTION_JOB, "NAME", 0, "Name the job NAME", 0},
    {"on-full", OPTION_ON_FULL, "drop|wait:MS", 0,
     "Choose what a full buffer does: drop and count (default)", 0},
    {"budget", OPTION_BUDGET, "PERCENT|off", 0,
     "Lower the level of functions whose tracing costs more of a process's time (default 2)", 0},
    {"upstream", OPTION_UPSTREAM, "URL", 0,
     "Send the job to the collector at URL, from every node it runs on", 0},
    {"keep", OPTION_KEEP, "all|<n>s|<n>{K,M,G}", 0,
     "Keep the newest records: of the last so many seconds, or so many bytes (default 10G)", 0},
    {"trigger", OPTION_TRIGGER, "CONDITION", 0,
     "Keep the records around the moment when CONDITION comes true, whatever --keep gives up: "
     "'MPI_Allreduce p99>10ms', 'MPI_* error', 'step>1.5x', 'finding=late-rank', 'signal'; repeats",
     0},
    {"trigger-keep", OPTION_TRIGGER_KEEP, "TIME", 0,
     "Keep the last TIME before a trigger (default 10s)", 0},
    {"trigger-for", OPTION_TRIGGER_FOR, "TIME", 0,
     "Keep and raise levels for TIME after a trigger (default 5s)", 0},
    {"trigger-level", OPTION_TRIGGER_LEVEL, "LEVEL", 0,
     "Raise levels to LEVEL after a trigger: record (default), record+args, record+stack or off",
     0},
    {"trigger-size", OPTION_TRIGGER_SIZE, "SIZE", 0,
     "Keep at most SIZE bytes of a trigger (default 256M)", 0},
    {"device-time", OPTION_DEVICE_TIME, NULL, 0,
     "Measure what devices do, by CUPTI or MSPTI, beside the calls that ask for it", 0},
    {"quiet", 'q', NULL, 0, "Print no summary at the end, and write no page", 0},
    {0},
};

struct arguments {
	char **command;
};

/* ---- options ---- */

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct hk_settings *settings = hk_command_settings();
	static bool level_given, trigger_given;

	switch (key) {
	case OPTION_LEVEL:
		return -hk_command_setting_add("level", argument, &level_given);
	case OPTION_STORE:
		return -hk_settings_set(settings, "store", argument);
	case OPTION_JOB:
		hk_option_job_name(state, argument);
		return -hk_settings_set(settings, "job", argument);
	case OPTION_ON_FULL:
		return -hk_settings_set(settings, "on-full", argument);
	case OPTION_DEVICE_TIME:
		return -hk_settings_set(settings, "device-time", "1");
	case OPTION_BUDGET:
		return -hk_settings_set(settings, "budget", argument);
	case OPTION_UPSTREAM:
		return -hk_settings_set(settings, "upstream", argument);
	case OPTION_KEEP:
		return -hk_settings_set(settings, "keep", argument);
	case OPTION_TRIGGER:
		if (!*argument) {
			argp_error(state, "--trigger needs a condition, such as 'read p99>10ms'");
		}
		return -hk_command_setting_add("trigger", argument, &trigger_given);
	case OPTION_TRIGGER_KEEP:
		return -hk_settings_set(settings, "trigger-keep", argument);
	case OPTION_TRIGGER_FOR:
		return -hk_settings_set(settings, "trigger-for", argument);
	case OPTION_TRIGGER_LEVEL:
		return -hk_settings_set(settings, "trigger-level", argument);
	case OPTION_TRIGGER_SIZE:
		return -hk_settings_set(settings, "trigger-size", argument);
	case 'q':
		return -hk_settings_set(settings, "quiet", "1");
	case ARGP_KEY_ARGS:
		arguments->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which command? hookcli run [OPTION...] [--] CMD...");
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
    .args_doc = "[--] CMD...",
    .doc = "Run CMD under the agent and show what it called. Works around a launcher (hookcli run "
	   "mpirun -n 4 ./a) and inside one (mpirun -n 4 hookcli run ./a).",
    .children = children,
};

/* ---- the command ---- */

static int tell_unusable(const char *name, int error)
{
	hk_error(error == -ENOENT ? "%s: there is no such command"
				  : "%s is not an executable program",
		 name);
	return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Joins COMMAND into one line of at most SIZE - 1 bytes. */
static void command_line(char *const *command, char *line, size_t size)
{
	size_t used = 0;

	line[0] = '\0';
	for (size_t i = 0; command[i] && used + 1 < size; i++) {
		int length =
		    snprintf(line + used, size - used, "%s%s", i > 0 ? " " : "", command[i]);
		used += length > 0 ? (size_t)length : 0;
	}
}

/* ---- the environment ---- */

/* Names of the variables that hookcli sets, for launchers that pass on only named ones. */
#define VARIABLES_MAX 16

struct variables {
	const char *names[VARIABLES_MAX + 1];
	size_t count;
};

static void set(struct variables *variables, const char *name, const char *value)
{
	if (value && variables->count < VARIABLES_MAX && setenv(name, value, 1) == 0) {
		variables->names[variables->count++] = name;
	}
}

static int set_environment(const struct hk_session *session, const char *agent, const char *hooks,
			   struct variables *variables)
{
	const char *before = getenv("LD_PRELOAD");
	char *preload = NULL, *sanitizer = hk_sanitizer_options(getenv(HK_SANITIZER_VARIABLE));

	/* The agent comes first: a preloaded library sees only the bindings of libraries behind
	 * it. */
	if (before && *before && strncmp(before, agent, strlen(agent)) != 0) {
		if (asprintf(&preload, "%s:%s", agent, before) < 0) {
			preload = NULL;
		}
	} else {
		preload = strdup(before && *before ? before : agent);
	}
	if (!preload || !sanitizer) {
		free(preload);
		free(sanitizer);
		return -ENOMEM;
	}
	set(variables, "LD_PRELOAD", preload);
	set(variables, HK_SANITIZER_VARIABLE, sanitizer);
	free(preload);
	free(sanitizer);
	const char *next = hk_nvtx_next(agent);
	set(variables, HK_NVTX_NEXT, next);
	set(variables, HK_NVTX_VARIABLE, agent);
	set(variables, "HOOK_RUN_DIR", session->run_directory);
	set(variables, "HOOK_JOB", session->id);
	set(variables, HK_SESSION_NESTED, session->id);
	set(variables, "HOOK_HOOKS", hooks);
	set(variables, "HOOK_LEVEL", hk_command_setting("level"));
	set(variables, "HOOK_ON_FULL", hk_command_setting("on-full"));
	set(variables, "HOOK_BUDGET", hk_command_setting("budget"));
	set(variables, "HOOK_DEVICE_TIME", hk_command_setting("device-time"));
	/* NCCL opens the agent as its profiler plugin, unless the user has chosen one. */
	if (!getenv(HK_AGENT_NCCL_VARIABLE)) {
		set(variables, HK_AGENT_NCCL_VARIABLE, hk_agent_nccl_plugin(agent));
	}
	set(variables, "HOOK_NCCL_EVENTS", getenv("HOOK_NCCL_EVENTS"));
	return 0;
}

/* ---- from start to end ---- */

static void watch_session(void *session)
{
	hk_session_renew(session);
}

/* Returns true, after a warning, if the job's directory was removed while it ran. */
static bool was_removed(const struct hk_session *session)
{
	bool removed = !session->leaf && *session->whole && access(session->whole, F_OK) < 0 &&
		       errno == ENOENT;

	if (removed) {
		hk_warning("%s was removed while the job ran: nothing of it is kept",
			   session->shown);
	}
	return removed;
}

/* Runs the prepared child to its end. Returns its exit status, or an exit code of hookcli. */
static int run_child(struct hk_session *session, struct hk_command_process *child, const char *name)
{
	struct hk_command_process_end end;
	const char *quiet = hk_command_setting("quiet");
	int r = hk_command_process_start(child);

	signal(SIGPIPE, SIG_IGN);
	if (r == 0) {
		r = hk_command_process_wait(
		    child, &(struct hk_command_process_watch){watch_session, session}, &end);
		if (r < 0) {
			hk_error("cannot wait for %s: %s", name, strerror(-r));
			return EXIT_OURS;
		}
		hk_session_renew(session);
		hk_session_notice(session, child->pid, end.signaled, end.code);
	} else {
		hk_error("cannot execute %s: %s", name, strerror(-r));
		end = (struct hk_command_process_end){.code = r == -ENOENT ? EXIT_NOT_FOUND
									   : EXIT_NOT_EXECUTABLE};
	}
	int status = end.signaled ? 128 + end.code : end.code;
	bool leader = session->members.leader && !session->nested;
	bool closed = hk_session_leave(session, child, status);
	/* A private collector ends with the job, but not before the root has all of it. */
	session->unsent =
	    closed && session->leaf && session->private && !hk_upload_await(session, status);
	bool removed = closed && was_removed(session);
	if (r == 0 && leader && !session->stopped && !removed &&
	    !(quiet && strcmp(quiet, "0") != 0)) {
		hk_summary_show(session, name, status);
	}
	hk_session_fini(session, closed && !session->unsent);
	return status;
}

/* The program of a command, and what its environment and arguments are made from. */
struct start {
	const char *program, *agent, *hooks;
	char **command;
	char *preload; /* LD_PRELOAD as the user set it; NULL: not set */
};

/* Prepares the command with the environment of SESSION. Returns 0 or -errno. */
static int prepare(const struct start *start, const struct hk_session *session,
		   struct hk_command_process *child)
{
	struct variables variables = {0};
	char **arguments;

	if (start->preload) {
		setenv("LD_PRELOAD", start->preload, 1);
	}
	int r = set_environment(session, start->agent, start->hooks, &variables);
	r = r < 0 ? r
		  : hk_launcher_forward(start->program, start->command, variables.names,
					start->agent, &arguments);
	/* A launcher that kills hookcli means the rank: the command must then die too. */
	if (r == 0) {
		r = hk_command_process_prepare(child, start->program, arguments, environ,
					       session->inside);
		hk_launcher_free(arguments, start->command);
	}
	/* Programs that hookcli itself starts from here on must not load the agent. */
	unsetenv("LD_PRELOAD");
	return r;
}

/* Executes the command without the agent, in place of hookcli, after a warning with the reason WHY.
 * Returns an exit code if it cannot be executed. */
static int run_untraced(const struct start *start, const char *why)
{
	hk_warning("%s runs untraced: %s", start->command[0], why);
	if (start->preload) {
		setenv("LD_PRELOAD", start->preload, 1);
	}
	hk_signal_guard_size_end();
	execve(start->program, start->command, environ);
	return tell_unusable(start->command[0], -errno);
}

/* Runs the command traced. If a shared collector cannot take the job, a private one is started.
 * Without any collector the command runs untraced. */
static int run_kept(struct hk_session *session, const struct hk_session_options *session_options,
		    const struct start *start)
{
	struct hk_command_process child;
	char limit[HK_SHORTAGE_BYTES];

	do {
		int r = prepare(start, session, &child);
		if (r < 0) {
			hk_shortage_explain(limit);
			snprintf(session->why, sizeof(session->why),
				 "cannot start a process: %s%s%s", strerror(-r), *limit ? ", " : "",
				 limit);
			break;
		}
		if (hk_session_open(session, session_options, child.pid) == 0) {
			return run_child(session, &child, start->command[0]);
		}
		hk_command_process_cancel(&child);
	} while (hk_session_replace(session, session_options) == 0);
	hk_session_abandon(session);
	return run_untraced(start, session->why);
}

static int run_command(char **command)
{
	char program[PATH_MAX], agent[PATH_MAX], line[1024], store[PATH_MAX],
	    limit[HK_SHORTAGE_BYTES];
	struct hk_session session;

	int code = hk_program_find(command[0], program);
	if (code < 0) {
		return tell_unusable(command[0], code);
	}
	char *hooks = hk_hooks_option_list();
	if (!hooks || hk_job_settings_check() < 0 || hk_job_settings_record_watched() < 0) {
		free(hooks);
		return EXIT_OURS;
	}
	int r = hk_agent_library_find(hk_command_setting("agent"), agent);
	if (r < 0) {
		if (r == -EINVAL) {
			hk_error("the agent's path %s holds a space or colon: move it", agent);
		} else {
			hk_error(HK_AGENT_LIBRARY_ABSENT);
		}
		free(hooks);
		return EXIT_OURS;
	}
	command_line(command, line, sizeof(line));
	snprintf(store, sizeof(store), "%s",
		 hk_command_setting("store") ? hk_command_setting("store") : "");
	struct hk_session_options session_options = {
	    .store = *store ? store : NULL,
	    .job = hk_command_setting("job"),
	    .command = hk_name_base(command[0]),
	    .line = line,
	};
	const char *preload = getenv("LD_PRELOAD");
	struct start start = {
	    .program = program,
	    .agent = agent,
	    .hooks = hooks,
	    .command = command,
	    .preload = preload ? strdup(preload) : NULL,
	};
	code = hk_shortage_of_size() ? run_untraced(&start, hk_shortage_explain(limit))
	       : hk_session_init(&session, &session_options) == 0
		   ? run_kept(&session, &session_options, &start)
		   : run_untraced(&start, session.why);
	free(start.preload);
	free(hooks);
	return code;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {0};

	argp_err_exit_status = EXIT_OURS;
	hk_signal_guard_size_begin();
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments) != 0 ||
	    !arguments.command) {
		return EXIT_OURS;
	}
	return run_command(arguments.command);
}

static const char *full_word(size_t index)
{
	static const char *const words[] = {"drop", "wait:"};

	return index < 2 ? words[index] : NULL;
}

static const char *off_word(size_t index)
{
	return index == 0 ? "off" : NULL;
}

static const char *all_word(size_t index)
{
	return index == 0 ? "all" : NULL;
}

static const struct hk_manual_values values[] = {
    {"hooks", hk_hooks_option_word},
    {"level", hk_option_level_word},
    {"on-full", full_word},
    {"budget", off_word},
    {"keep", all_word},
    {0},
};

static const char examples[] =
    "hookcli run --keep 30s --trigger 'MPI_Allreduce p99>10ms' -- mpirun -n 4 ./solver\tKeep the "
    "seconds around a slow call\n"
    "hookcli run -- mpirun -n 4 ./solver input\tTrace a job of four ranks with the default hooks\n"
    "hookcli run --hooks libc --level time -- python3 train.py\tTrace heap and locks too, and keep "
    "no records\n"
    "hookcli run --store results --job base -- ./solver\tKeep the job in results/base";

const struct hk_command hk_command_run = {
    {"run", "run a command under the agent and sum up what it called", &argp,
     "N that of the command\n128+N it died of signal N\n125 hookcli was used wrongly\n"
     "126 the command cannot be run\n127 there is no such command",
     values, examples},
    run,
};
