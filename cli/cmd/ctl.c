/* hookcli ctl: changes the levels of a running job without a restart. */
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_client.h"
#include "cli/job/job_open.h"
#include "cli/option.h"
#include "hooks/hook.h"
#include "hooks/names.h"
#include "ring/segment.h"
#include "text/quantity.h"
#include "text/table.h"

#define OPTION_FOR 0x100
#define OPTION_ALL 0x101

struct arguments {
	const char *job, *action;
	bool all;
	int64_t for_ns;
	struct hk_option_ranks ranks;
	char *rules[HK_RULES_MAX]; /* PATTERN=LEVEL */
	size_t rule_count;
};

static const struct argp_option options[] = {
    {"job", 'j', "JOB", 0, "The job: an id, a unique prefix or a directory", 0},
    HK_OPTION_RANKS,
    {"for", OPTION_FOR, "TIME", 0, "Back to what it was after TIME, such as 30s", 0},
    {"all", OPTION_ALL, NULL, 0, "With off: every function", 0},
    {0},
};

static bool is(const struct arguments *arguments, const char *action)
{
	return strcmp(arguments->action, action) == 0;
}

static void take_word(struct arguments *arguments, struct argp_state *state, char *word)
{
	if (!*arguments->action) {
		arguments->action = word;
	} else if (is(arguments, "trigger")) {
		hk_option_only(state, "job", word, &arguments->job);
	} else if (!is(arguments, "level")) {
		argp_error(state, "'%s' is too much after '%s'", word, arguments->action);
	} else if (arguments->rule_count == HK_RULES_MAX) {
		argp_error(state, "at most %u patterns", HK_RULES_MAX);
	} else {
		arguments->rules[arguments->rule_count++] = word;
	}
}

static const char *action_word(size_t index)
{
	static const char *const actions[] = {"level", "off", "on", "reset", "show", "trigger"};

	return index < sizeof(actions) / sizeof(actions[0]) ? actions[index] : NULL;
}

static void check(const struct arguments *arguments, struct argp_state *state)
{
	bool known = !*arguments->action;

	for (size_t i = 0; action_word(i); i++) {
		known |= is(arguments, action_word(i));
	}
	if (!known) {
		argp_error(state, "unknown action '%s': level, off, on, reset, show or trigger",
			   arguments->action);
	} else if (is(arguments, "level") && !arguments->rule_count) {
		argp_error(state, "level needs PATTERN=LEVEL, for example 'libm.so*:*=count'");
	} else if (is(arguments, "off") && !arguments->all) {
		argp_error(state, "off wants --all; one function: hookcli ctl level PATTERN=off");
	} else if (arguments->all && !is(arguments, "off")) {
		argp_error(state, "--all belongs to off");
	} else if (arguments->for_ns && !is(arguments, "level") && !is(arguments, "off")) {
		argp_error(state, "--for belongs to level and off");
	} else if (arguments->ranks.count && !is(arguments, "level")) {
		argp_error(state, "--ranks belongs to level");
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'j':
		arguments->job = argument;
		return 0;
	case HK_OPTION_KEY_RANKS:
		hk_option_ranks(state, argument, &arguments->ranks);
		return 0;
	case OPTION_FOR:
		arguments->for_ns = hk_option_time(state, "for", argument);
		if (arguments->for_ns == 0) {
			argp_error(state, "--for '%s' is no time to wait", argument);
		}
		return 0;
	case OPTION_ALL:
		arguments->all = true;
		return 0;
	case ARGP_KEY_ARG:
		take_word(arguments, state, argument);
		return 0;
	case ARGP_KEY_END:
		check(arguments, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "level PATTERN=LEVEL...\noff --all\non\nreset\n[show]\ntrigger [JOB]",
    .doc =
	"Change what a running job leaves behind of its calls.\v"
	"PATTERN is library:function, the library being the one that defines the function, or "
	"a function alone; * and ? stand for anything. LEVEL is off, count, sample, time, record, "
	"record+args, record+stack, record+stack:100/s, which keeps at most 100 stacks a second of "
	"each function, or default, which takes the pattern's rule away. Later patterns "
	"win over "
	"earlier ones, and all of them over --level and the governor. They hold for processes "
	"that start later, too.\n"
	"off --all lets every call pass as if it were not hooked; on goes back to the levels "
	"before. reset takes all rules away and switches on. show, which is the default, lists "
	"the rules.\n"
	"trigger keeps the records around now of all ranks, as a condition of --trigger would: "
	"hookcli report JOB --trigger N shows them.",
    .children = hk_option_children,
};

/* ---- the request ---- */

/* Splits TEXT, PATTERN=LEVEL, into RULE. Returns HK_EXIT_DONE, or HK_EXIT_USAGE after a line on
 * stderr. */
static int read_rule(char *text, Hk__Rule *rule)
{
	char *equals = strrchr(text, '=');

	if (!equals || equals == text || equals - text >= (ptrdiff_t)HK_RULE_PATTERN_BYTES) {
		hk_error("'%.140s' is not PATTERN=LEVEL with at most %u bytes of pattern", text,
			 HK_RULE_PATTERN_BYTES - 1);
		return HK_EXIT_USAGE;
	}
	uint32_t stack_rate;
	int level = hk_level_parse(equals + 1, &stack_rate);
	if (level < 0 || level > HK_LEVEL_STACK) {
		hk_error("unknown level '%.40s': off count sample time record record+args "
			 "record+stack record+stack:N/s default",
			 equals + 1);
		return HK_EXIT_USAGE;
	}
	*equals = '\0';
	rule->pattern = text;
	rule->level = (uint32_t)level;
	rule->stack_rate = stack_rate;
	return HK_EXIT_DONE;
}

/* A request under construction. Its pointers point into the struct or into ARGUMENTS. */
struct change {
	Hk__Request request;
	Hk__ControlRequest control;
	Hk__Rule rules[HK_RULES_MAX], *rule_list[HK_RULES_MAX];
	Hk__RankRange ranks[HK_SPAN_RANKS_MAX], *rank_list[HK_SPAN_RANKS_MAX];
};

static void set_ranks(struct change *change, const struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->ranks.count; i++) {
		hk__rank_range__init(&change->ranks[i]);
		change->ranks[i].first = (uint32_t)arguments->ranks.spans[i].first;
		change->ranks[i].last = (uint32_t)arguments->ranks.spans[i].last;
		change->rank_list[i] = &change->ranks[i];
	}
}

static void add_rule(struct change *change)
{
	size_t n = change->control.n_rules++;

	hk__rule__init(&change->rules[n]);
	change->rule_list[n] = &change->rules[n];
}

static int change_init(struct change *change, struct arguments *arguments, const char *job)
{
	Hk__ControlRequest *control = &change->control;

	hk__request__init(&change->request);
	hk__control_request__init(control);
	change->request.what_case = HK__REQUEST__WHAT_CONTROL;
	change->request.control = control;
	control->job = (char *)job;
	control->rules = change->rule_list;
	control->for_ns = (uint64_t)arguments->for_ns;
	set_ranks(change, arguments);
	for (size_t i = 0; i < arguments->rule_count; i++) {
		add_rule(change);
		change->rules[i].ranks = change->rank_list;
		change->rules[i].n_ranks = arguments->ranks.count;
		int code = read_rule(arguments->rules[i], &change->rules[i]);
		if (code != HK_EXIT_DONE) {
			return code;
		}
	}
	if (is(arguments, "reset")) {
		add_rule(change); /* an empty rule removes all rules */
	}
	control->trigger = is(arguments, "trigger");
	if (is(arguments, "off")) {
		control->tracing = HK__TRACING__TRACING_OFF;
	} else if (is(arguments, "on") || is(arguments, "reset")) {
		control->tracing = HK__TRACING__TRACING_ON;
	}
	return HK_EXIT_DONE;
}

/* ---- the reply ---- */

static void left_add(struct hk_table *table, uint64_t until_unix_ns, uint64_t now_ns)
{
	char text[HK_QUANTITY_BYTES];

	if (until_unix_ns == 0) {
		hk_table_add(table, "-");
	} else {
		uint64_t left = until_unix_ns > now_ns ? until_unix_ns - now_ns : 0;
		hk_table_add(table, "%s", hk_quantity_duration(text, left));
	}
}

static void ranks_add(struct hk_table *table, const Hk__Rule *rule)
{
	char text[128] = "all";
	size_t used = 0;

	for (size_t i = 0; i < rule->n_ranks && used < sizeof(text); i++) {
		uint32_t first = rule->ranks[i]->first, last = rule->ranks[i]->last;
		int length = snprintf(text + used, sizeof(text) - used,
				      first == last ? "%s%" PRIu32 : "%s%" PRIu32 "-%" PRIu32,
				      i ? "," : "", first, last);
		used += (size_t)length;
	}
	hk_table_add(table, "%s", text);
}

/* Prints the rules of JOB. NOW_NS is the time of its snapshot. */
static int show(const Hk__Job *job, uint64_t now_ns)
{
	struct hk_table *table = hk_table_new("<pattern:100|<level|<ranks:40|>left");
	char level[HK_LEVEL_BYTES];
	int r = 0;

	for (size_t i = 0; i < job->n_rules; i++) {
		hk_table_add(table, "%s", job->rules[i]->pattern);
		hk_table_add(
		    table, job->rules[i]->raise ? "%s or more" : "%s",
		    hk_level_print(job->rules[i]->level, job->rules[i]->stack_rate, level));
		ranks_add(table, job->rules[i]);
		left_add(table, job->rules[i]->until_unix_ns, now_ns);
	}
	if (job->off) {
		hk_table_add(table, "(everything)");
		hk_table_add(table, "off");
		hk_table_add(table, "all");
		left_add(table, job->off_until_unix_ns, now_ns);
	}
	if (job->n_rules > 0 || job->off) {
		r = hk_table_write(table, stdout, hk_command_colour(stdout));
	} else {
		puts("no level was changed while the job ran");
	}
	hk_table_free(table);
	return r == 0 && fflush(stdout) == 0 ? HK_EXIT_DONE : HK_EXIT_FAILED;
}

static void tell_trigger(const Hk__Job *job, const Hk__Trigger *trigger)
{
	char before[HK_QUANTITY_BYTES], after[HK_QUANTITY_BYTES];
	uint64_t from = trigger->from_unix_ns, at = trigger->at_unix_ns;

	printf("trigger %" PRIu32 "%s: the %s before it and the %s after it go to %s/%s\n",
	       trigger->number, trigger->prolonged ? ", prolonged" : "",
	       hk_quantity_duration(before, at > from ? at - from : 0),
	       hk_quantity_duration(after, trigger->until_unix_ns - at), job ? job->directory : "",
	       trigger->directory);
	if (*trigger->problem) {
		hk_warning("%s", trigger->problem);
	}
}

static int tell(const struct arguments *arguments, const Hk__Response *response, uint64_t now_ns)
{
	const Hk__ControlReply *control = response->control;

	if (!control) {
		return response->job ? show(response->job, now_ns) : HK_EXIT_FAILED;
	}
	if (control->trigger) {
		tell_trigger(response->job, control->trigger);
	} else if (is(arguments, "level")) {
		printf("%" PRIu32 " call site%s in %" PRIu32 " process%s\n", control->sites,
		       control->sites == 1 ? "" : "s", control->processes,
		       control->processes == 1 ? "" : "es");
		if (control->sites == 0) {
			hk_warning("nothing that is hooked so far matches; the rule stays for what "
				   "comes");
		}
	} else {
		printf("%" PRIu32 " process%s told\n", control->processes,
		       control->processes == 1 ? "" : "es");
	}
	return fflush(stdout) == 0 ? HK_EXIT_DONE : HK_EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	static struct arguments arguments = {.action = ""};
	static struct change change;
	Hk__Response *response;
	struct hk_job job;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return HK_EXIT_USAGE;
	}
	int code = change_init(&change, &arguments, "");
	code = code == HK_EXIT_DONE ? hk_job_open(arguments.job, &job) : code;
	if (code != HK_EXIT_DONE) {
		return code;
	}
	change.control.job = job.snapshot->job->id;
	if (job.live && job.shared && !*job.url) {
		hk_error("job %s is kept by a collector on each of its nodes: run ctl there",
			 job.snapshot->job->id);
		code = HK_EXIT_ABSENT;
	} else if (job.live) {
		if (job.shared) {
			hk_warning("only the processes of this node change: run ctl on the "
				   "others too");
		}
		code = hk_client_request(job.url, &change.request, &response);
	} else {
		hk_error("job %s has ended, or its collector has", job.snapshot->job->id);
		code = HK_EXIT_ABSENT;
	}
	if (code == HK_EXIT_DONE) {
		code = tell(&arguments, response, job.snapshot->now_unix_ns);
		hk__response__free_unpacked(response, NULL);
	}
	hk_job_close(&job);
	return code;
}

static const struct hk_manual_values values[] = {{"", action_word}, {0}};

static const char examples[] =
    "hookcli ctl level 'MPI_*=count' --for 1m\tOnly count MPI calls for a minute\n"
    "hookcli ctl trigger\tKeep the last 10 s of all ranks, and the next 5 s\n"
    "hookcli ctl off --all\tStop tracing in all processes";

const struct hk_command hk_command_ctl = {
    {"ctl", "change levels of a running job", &argp, NULL, values, examples}, run};
