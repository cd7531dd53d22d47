/* hookcli attach: traces a process that runs already, from now on. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/attach/inject.h"
#include "cli/attach/members.h"
#include "cli/attach/place.h"
#include "cli/attach/target.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/run/session_apart.h"
#include "cli/target/agent_library.h"
#include "cli/target/hooks_option.h"
#include "cli/target/job_settings.h"
#include "settings/settings.h"
#include "text/name.h"

#define SETTINGS_MAX 16u
#define USER_BYTES 64

enum {
	OPTION_LEVEL = 0x100,
	OPTION_STORE,
	OPTION_JOB,
};

struct arguments {
	const char *what;
};

static const struct argp_option options[] = {
    {"level", OPTION_LEVEL, "LEVEL|PATTERN=LEVEL", 0,
     "Set the detail of all or some functions, as for hookcli run; repeats", 0},
    {"store", OPTION_STORE, "DIR", 0, "Store the job in DIR, using a private collector", 0},
    {"job", OPTION_JOB, "NAME", 0, "Name the new job NAME", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct hk_settings *settings = hk_command_settings();
	static bool level_given;

	switch (key) {
	case OPTION_LEVEL:
		return -hk_command_setting_add("level", argument, &level_given);
	case OPTION_STORE:
		return -hk_settings_set(settings, "store", argument);
	case OPTION_JOB:
		hk_option_job_name(state, argument);
		return -hk_settings_set(settings, "job", argument);
	case ARGP_KEY_ARG:
		hk_option_only(state, "process or job", argument, &arguments->what);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "attach needs the id of a process, or a job");
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
    .args_doc = "PID|JOB",
    .doc =
	"Trace process PID, or the processes of JOB that still run, from now on, as a new job. The "
	"process needs no preparation. A collector is started if none runs, as by hookcli run.\v"
	"The agent is loaded by a thread of the process at a moment at which that is safe: one "
	"thread is stopped by ptrace for some milliseconds, and the others run on. A thread that "
	"waits in epoll_wait or a few other system calls may see EINTR, as after any signal. The "
	"process must use glibc and be yours; root may attach to any. It is left alone, with the "
	"reason, if it is stopped, static, a sandbox or traced by a debugger, or if it does not "
	"see "
	"the run directory, as in some containers.\n"
	"Calls before now are not counted, and memory that is live now is unknown. Programs that "
	"the process starts later are not traced. hookcli detach ends tracing; else the job ends "
	"with the process.",
    .children = children,
};

/* ---- settings of the agent ---- */

struct settings {
	char *list[SETTINGS_MAX + 1];
	size_t count;
};

static void add(struct settings *settings, const char *name, const char *value)
{
	if (value && settings->count < SETTINGS_MAX &&
	    asprintf(&settings->list[settings->count], "%s=%s", name, value) >= 0) {
		settings->count++;
	}
}

static void fill(struct settings *settings, const struct hk_session_apart *apart, const char *hooks)
{
	const char *level = hk_command_setting("level");

	add(settings, "HOOK_RUN_DIR", apart->run_directory);
	add(settings, "HOOK_JOB", apart->id);
	add(settings, "HOOK_HOOKS", hooks);
	/* An earlier setting of the process does not count. */
	add(settings, "HOOK_LEVEL", level ? level : "");
	add(settings, "HOOK_ON_FULL", hk_command_setting("on-full"));
	add(settings, "HOOK_BUDGET", hk_command_setting("budget"));
	settings->list[settings->count] = NULL;
}

static void drop(struct settings *settings)
{
	for (size_t i = 0; i < settings->count; i++) {
		free(settings->list[i]);
	}
}

/* ---- ---- */

struct attaching {
	const char *agent, *hooks;
	struct hk_session_apart apart;
	bool open;	/* the job is */
	size_t traced;	/* processes, by this command */
	size_t already; /* before it */
};

static int open_job(struct attaching *attaching, const struct hk_target *target)
{
	const char *store = hk_command_setting("store");
	const struct hk_session_options session = {
	    .store = store && *store ? store : NULL,
	    .job = hk_command_setting("job"),
	    .command = hk_name_base(target->program),
	    .line = target->line,
	};
	int r = hk_session_apart_open(&attaching->apart, &session, target->uid, target->gid);

	attaching->open = r == 0;
	if (r < 0) {
		const char *why = *attaching->apart.why ? attaching->apart.why : strerror(-r);
		char user[USER_BYTES];
		if (target->uid == geteuid()) {
			hk_error("%s", why);
		} else {
			hk_error("as user %s, to whom process %d belongs: %s",
				 hk_target_user(target->uid, user, sizeof(user)), (int)target->pid,
				 why);
		}
	}
	return r;
}

/* Starts the agent in TARGET. Returns 0, or -errno after a line on stderr. */
static int start(struct attaching *attaching, struct hk_target *target)
{
	char path[PATH_MAX], why[HK_ATTACH_WHY_BYTES] = "";
	struct settings settings = {.count = 0};
	int r = attaching->open ? 0 : open_job(attaching, target);

	if (r < 0) {
		return r;
	}
	r = hk_place_agent(target, attaching->agent, attaching->apart.run_directory, path, why);
	if (r == 0) {
		fill(&settings, &attaching->apart, attaching->hooks);
		r = hk_inject_start(target, path, (const char *const *)settings.list, why);
		drop(&settings);
	}
	if (r != 0) {
		if (!hk_target_lives(target)) {
			snprintf(why, sizeof(why), "process %d has ended meanwhile",
				 (int)target->pid);
		}
		hk_error("%s", why);
		return r < 0 ? r : -EALREADY;
	}
	printf("process %d (%s) is traced as job %s in %s; end that with: hookcli detach %d\n",
	       (int)target->pid, hk_name_base(target->program), attaching->apart.id,
	       attaching->apart.shown, (int)target->pid);
	if (target->uid != geteuid()) {
		char user[USER_BYTES];
		printf("the job belongs to user %s: hookcli top and ctl reach it as that user\n",
		       hk_target_user(target->uid, user, sizeof(user)));
	}
	attaching->traced++;
	return 0;
}

static int attach_one(struct attaching *attaching, pid_t pid, bool only)
{
	char why[HK_ATTACH_WHY_BYTES];
	struct hk_target target;
	int r = hk_target_examine(pid, &target, why);

	if (r < 0) {
		hk_error("%s", why);
		return r == -ESRCH ? HK_EXIT_ABSENT : HK_EXIT_FAILED;
	}
	if (hk_inject_is_traced(&target)) {
		attaching->already++;
		r = only ? -EALREADY : 0;
		if (only) {
			hk_error("process %d is traced already: hookcli detach %d ends that",
				 (int)pid, (int)pid);
		}
	} else {
		r = start(attaching, &target);
	}
	hk_target_free(&target);
	return r < 0 ? HK_EXIT_FAILED : HK_EXIT_DONE;
}

static int attach_all(struct attaching *attaching, const char *what)
{
	pid_t *pids;
	size_t count;
	int code = hk_members_list(what, &pids, &count);

	if (code != HK_EXIT_DONE) {
		return code;
	}
	for (size_t i = 0; i < count; i++) {
		int one = attach_one(attaching, pids[i], count == 1);
		code = one > code ? one : code;
	}
	free(pids);
	if (code == HK_EXIT_DONE && attaching->traced == 0) {
		hk_error("all processes of job %s are traced already", what);
		code = HK_EXIT_FAILED;
	}
	return code;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct attaching attaching = {.agent = NULL};
	char agent[PATH_MAX];

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0 || !arguments.what) {
		return HK_EXIT_USAGE;
	}
	char *hooks = hk_hooks_option_list();
	if (!hooks || hk_job_settings_check() < 0) {
		free(hooks);
		return HK_EXIT_USAGE;
	}
	if (hk_agent_library_find(hk_command_setting("agent"), agent) == -ENOENT) {
		hk_error(HK_AGENT_LIBRARY_ABSENT);
		free(hooks);
		return HK_EXIT_FAILED;
	}
	attaching.agent = agent;
	attaching.hooks = hooks;
	int code = HK_EXIT_FAILED, r = hk_session_apart_init(&attaching.apart);
	if (r < 0) {
		hk_error("cannot start a process: %s", strerror(-r));
	} else {
		code = attach_all(&attaching, arguments.what);
	}
	hk_session_apart_close(&attaching.apart, attaching.traced > 0);
	free(hooks);
	return hk_command_output_close(stdout, code);
}

static const struct hk_manual_values values[] = {
    {"hooks", hk_hooks_option_word},
    {"level", hk_option_level_word},
    {0},
};

static const char examples[] =
    "hookcli attach 4711\tTrace a running process with the default hooks\n"
    "hookcli attach --hooks libc --level time $(pidof -s nginx)\tCount what a server calls of "
    "libc\n"
    "hookcli top\tWatch the job of the last attach";

const struct hk_command hk_command_attach = {
    {"attach", "trace a process that runs already", &argp, NULL, values, examples},
    run,
};
