/* hookcli detach: ends tracing of a process, which runs on. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "cli/attach/inject.h"
#include "cli/attach/members.h"
#include "cli/attach/target.h"
#include "cli/command.h"
#include "cli/option.h"

struct arguments {
	const char *what;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		hk_option_only(state, "process or job", argument, &arguments->what);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "detach needs the id of a process, or a job");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .parser = parse,
    .args_doc = "PID|JOB",
    .doc = "End tracing of process PID, or of all processes of JOB, which run on. It does not "
	   "matter how tracing began.\v"
	   "All slots get back what they would hold without hooktrace. Calls that run return as "
	   "usual. The agent stays in memory and does nothing; hookcli attach starts it again. The "
	   "job is complete a moment after its last process was detached.",
    .children = hk_option_children,
};

/* Returns an exit code. *RET_DONE: the process was traced. */
static int detach_one(pid_t pid, bool only, bool *ret_done)
{
	char why[HK_ATTACH_WHY_BYTES] = "";
	struct hk_target target;
	int r = hk_target_examine(pid, &target, why);

	*ret_done = false;
	if (r < 0) {
		hk_error("%s", why);
		return r == -ESRCH ? HK_EXIT_ABSENT : HK_EXIT_FAILED;
	}
	if (!hk_inject_is_traced(&target)) {
		if (only) {
			hk_error("process %d is not traced", (int)pid);
		}
		hk_target_free(&target);
		return only ? HK_EXIT_FAILED : HK_EXIT_DONE;
	}
	r = hk_inject_stop(&target, why);
	hk_target_free(&target);
	if (r < 0) {
		hk_error("%s", why);
		return HK_EXIT_FAILED;
	}
	*ret_done = true;
	printf("process %d is not traced any more\n", (int)pid);
	return HK_EXIT_DONE;
}

static int detach_all(const char *what)
{
	pid_t *pids;
	size_t count, done = 0;
	int code = hk_members_list(what, &pids, &count);

	if (code != HK_EXIT_DONE) {
		return code;
	}
	for (size_t i = 0; i < count; i++) {
		bool ended;
		int one = detach_one(pids[i], count == 1, &ended);
		code = one > code ? one : code;
		done += ended;
	}
	free(pids);
	if (code == HK_EXIT_DONE && done == 0) {
		hk_error("no process of job %s is traced", what);
		code = HK_EXIT_FAILED;
	}
	return code;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {0};

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0 || !arguments.what) {
		return HK_EXIT_USAGE;
	}
	return hk_command_output_close(stdout, detach_all(arguments.what));
}

static const char examples[] = "hookcli detach 4711\tLet a process run without tracing\n"
			       "hookcli detach hook-last\tDo so with all processes of the last job";

const struct hk_command hk_command_detach = {
    {"detach", "end tracing of a process, which runs on", &argp, NULL, NULL, examples},
    run,
};
