/* hookcli stacks: where every thread of every rank of a running job is now. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/job_open.h"
#include "cli/option.h"
#include "cli/stacks/groups.h"
#include "cli/stacks/stacks_ask.h"
#include "cli/stacks/stacks_write.h"

#define OPTION_PTRACE 0x100
#define LEAST_WIDTH 40u

struct arguments {
	const char *job;
	bool json, all, ptrace;
	struct hk_option_ranks ranks;
};

static const struct argp_option options[] = {
    HK_OPTION_RANKS,
    {"all", 'a', NULL, 0, "Show idle threads, launchers and all frames too", 0},
    {"ptrace", OPTION_PTRACE, NULL, 0,
     "Stop threads that do not answer for a moment, and read their stacks by ptrace", 0},
    HK_OPTION_JSON,
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case HK_OPTION_KEY_RANKS:
		hk_option_ranks(state, argument, &arguments->ranks);
		return 0;
	case 'a':
		arguments->all = true;
		return 0;
	case OPTION_PTRACE:
		arguments->ptrace = true;
		return 0;
	case HK_OPTION_KEY_JSON:
		arguments->json = true;
		return 0;
	case ARGP_KEY_ARG:
		hk_option_only(state, "job", argument, &arguments->job);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[JOB]",
    .doc =
	"Show where every thread of every rank of the running JOB is now. Threads with equal "
	"stacks are one line, over all ranks; innermost functions come first.\v"
	"It works on a job that hangs. Each thread gets SIGURG, and the agent's handler answers "
	"with the thread's stack: functions of C, C++ and CPython 3.8 to 3.13. A blocking system "
	"call continues afterwards. But nanosleep, "
	"poll, select, epoll_wait and some others (signal(7)) return EINTR to the program, as "
	"after any signal. With --ptrace, threads in nanosleep, poll and select are read by ptrace "
	"instead, which they do not notice; their Python frames are then missing. A thread that "
	"does not answer is shown with the "
	"reason.\n"
	"Idle threads are those that wait for work in a pool or an event loop.",
    .children = hk_option_children,
};

/* Returns the width of OUTPUT's lines; 0: no limit. */
static unsigned width_of(FILE *output)
{
	unsigned columns = hk_command_columns(output);

	return columns == 0 || columns >= LEAST_WIDTH ? columns : LEAST_WIDTH;
}

static int show(const Hk__StacksReply *reply, const struct arguments *arguments, const char *job)
{
	struct hk_stack_groups groups;
	const struct hk_stacks_look look = {
	    .all = arguments->all,
	    .colour = hk_command_colour(stdout),
	    .width = width_of(stdout),
	};

	if (hk_stack_groups_init(&groups, reply) < 0) {
		hk_error("out of memory");
		return HK_EXIT_FAILED;
	}
	int r = arguments->json ? hk_stacks_write_json(&groups, reply, job, stdout)
				: hk_stacks_write_text(&groups, reply, job, &look, stdout);
	hk_stack_groups_fini(&groups);
	bool whole = r == 0 && fflush(stdout) == 0 && reply->n_missing == 0;
	return whole ? HK_EXIT_DONE : HK_EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	static struct arguments arguments;
	Hk__Response *response;
	struct hk_job job;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return HK_EXIT_USAGE;
	}
	int code = hk_job_open(arguments.job, &job);
	if (code != HK_EXIT_DONE) {
		return code;
	}
	const char *id = job.snapshot->job->id;
	if (!job.live) {
		hk_error("job %s has ended, or its collector has", id);
		code = HK_EXIT_ABSENT;
	} else if (job.shared && !*job.url) {
		hk_error("job %s is kept by a collector on each of its nodes: run stacks there",
			 id);
		code = HK_EXIT_ABSENT;
	} else {
		if (job.shared) {
			hk_warning("only the processes of this node are shown: run stacks on the "
				   "others too");
		}
		code = hk_stacks_ask(&job, arguments.ranks.spans, arguments.ranks.count,
				     arguments.ptrace, &response);
	}
	if (code == HK_EXIT_DONE) {
		code = show(response->stacks, &arguments, id);
		hk__response__free_unpacked(response, NULL);
	}
	hk_job_close(&job);
	return code;
}

static const char examples[] =
    "hookcli stacks\tWhere every rank of the newest job is now\n"
    "hookcli stacks --ranks 3 -a\tAll threads of rank 3, idle ones included\n"
    "hookcli stacks --ptrace\tAlso of threads that block signals or are stopped";

const struct hk_command hk_command_stacks = {
    {"stacks", "show where every thread of a running job is", &argp, NULL, NULL, examples}, run};
