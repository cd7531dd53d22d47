#include "collector/level/rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#include "base/log.h"
#include "collector/job/root_clock.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "hooks/hook.h"
#include "hooks/names.h"
#include "hooks/pattern.h"
#include "wire/message.h"

static uint64_t unix_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the list of rules ---- */

/* A list of rules under construction: pointers to rules of the job's message and to copies. */
struct rules {
	Hk__Rule *list[HK_RULES_MAX];
	size_t count;
};

static bool same_subject(const Hk__Rule *a, const Hk__Rule *b)
{
	if (strcmp(a->pattern, b->pattern) != 0 || a->n_ranks != b->n_ranks ||
	    a->raise != b->raise) {
		return false;
	}
	for (size_t i = 0; i < a->n_ranks; i++) {
		if (a->ranks[i]->first != b->ranks[i]->first ||
		    a->ranks[i]->last != b->ranks[i]->last) {
			return false;
		}
	}
	return true;
}

/* Returns whether NEW, which holds until UNTIL, replaces OLD. An empty pattern covers all
 * functions. */
static bool replaces(const Hk__Rule *new, uint64_t until_unix_ns, const Hk__Rule *old)
{
	if (!*new->pattern) {
		return true;
	}
	return same_subject(new, old) && (until_unix_ns == 0 || old->until_unix_ns != 0);
}

static bool valid(const Hk__Rule *rule)
{
	bool all_away = !*rule->pattern && rule->level == HK_LEVEL_DEFAULT;
	return rule->level <= HK_LEVEL_STACK && (*rule->pattern || all_away) &&
	       strlen(rule->pattern) < HK_RULE_PATTERN_BYTES;
}

static int append(struct rules *rules, Hk__Rule *rule)
{
	if (rules->count == HK_RULES_MAX) {
		return -ENOSPC;
	}
	rules->list[rules->count++] = rule;
	return 0;
}

static int put_rule(struct rules *rules, Hk__Rule *rule, uint64_t until_unix_ns)
{
	size_t kept = 0;
	if (!valid(rule)) {
		return -EINVAL;
	}
	for (size_t i = 0; i < rules->count; i++) {
		if (!replaces(rule, until_unix_ns, rules->list[i])) {
			rules->list[kept++] = rules->list[i];
		}
	}
	rules->count = kept;
	rule->until_unix_ns = until_unix_ns;
	return rule->level == HK_LEVEL_DEFAULT ? 0 : append(rules, rule);
}

/* Copies RULES. Returns 0 or -ENOMEM. */
static int copy_rules(const struct rules *rules, Hk__Rule ***ret_list)
{
	Hk__Job job = HK__JOB__INIT;
	ProtobufCMessage *copy;
	uint8_t *bytes;
	size_t size;
	job.rules = (Hk__Rule **)rules->list;
	job.n_rules = rules->count;
	int r = hk_message_pack(&job.base, &bytes, &size);
	if (r < 0) {
		return r;
	}
	r = hk_message_unpack(&hk__job__descriptor, bytes, size, &copy);
	free(bytes);
	if (r < 0) {
		return -ENOMEM;
	}
	*ret_list = ((Hk__Job *)copy)->rules;
	((Hk__Job *)copy)->rules = NULL;
	((Hk__Job *)copy)->n_rules = 0;
	hk__job__free_unpacked((Hk__Job *)copy, NULL);
	return 0;
}

/* Replaces the rules of JOB by copies of RULES. Returns 0 or -ENOMEM. */
static int take_rules(struct hk_job *job, const struct rules *rules)
{
	Hk__Rule **list;
	int r = copy_rules(rules, &list);
	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < job->state->n_rules; i++) {
		hk__rule__free_unpacked(job->state->rules[i], NULL);
	}
	free(job->state->rules);
	job->state->rules = list;
	job->state->n_rules = rules->count;
	return 0;
}

/* Lists the rules of JOB that have not expired. Rules beyond the number that an agent accepts are
 * ignored. */
static void borrow_rules(const struct hk_job *job, uint64_t now_unix_ns, struct rules *ret_rules)
{
	ret_rules->count = 0;
	for (size_t i = 0; i < job->state->n_rules; i++) {
		Hk__Rule *rule = job->state->rules[i];
		if (rule->until_unix_ns == 0 || rule->until_unix_ns > now_unix_ns) {
			append(ret_rules, rule);
		}
	}
}

/* ---- telling processes ---- */

static bool concerns(const Hk__Rule *rule, int32_t rank)
{
	/* A program without a launcher is rank 0 of 1. */
	uint32_t number = rank < 0 ? 0 : (uint32_t)rank;
	for (size_t i = 0; i < rule->n_ranks; i++) {
		if (number >= rule->ranks[i]->first && number <= rule->ranks[i]->last) {
			return true;
		}
	}
	return rule->n_ranks == 0;
}

void hk_rules_publish(struct hk_process *process)
{
	const Hk__Job *job = process->job->state;
	struct hk_rule rules[HK_RULES_MAX];
	uint32_t count = 0;
	if (!process->segment || process->exited ||
	    (process->segment->control_written == job->control_changes &&
	     !process->segment->ceilings_changed)) {
		return;
	}
	memset(rules, 0, sizeof(rules));
	for (size_t i = 0; i < job->n_rules && count < HK_RULES_MAX; i++) {
		const Hk__Rule *rule = job->rules[i];
		if (valid(rule) && concerns(rule, process->state->rank)) {
			memcpy(rules[count].pattern, rule->pattern, strlen(rule->pattern));
			rules[count].stack_rate = rule->stack_rate;
			rules[count].raise = rule->raise;
			rules[count++].level = (uint8_t)rule->level;
		}
	}
	hk_reader_publish(process->segment->reader, rules, count, job->off ? HK_SEGMENT_OFF : 0);
	process->segment->control_written = job->control_changes;
	process->segment->ceilings_changed = false;
}

static void tell_all(struct hk_job *job)
{
	struct hk_process *process;
	job->changed = true;
	job->state->control_changes++;
	DL_FOREACH (job->processes, process) {
		hk_rules_publish(process);
	}
}

/* ---- changing ---- */

static bool matched(const Hk__ControlRequest *request, const Hk__Process *state,
		    const Hk__Site *site)
{
	for (size_t i = 0; i < request->n_rules; i++) {
		const Hk__Rule *rule = request->rules[i];
		if (concerns(rule, state->rank) &&
		    hk_pattern_match_function(rule->pattern, site->provider, site->function)) {
			return true;
		}
	}
	return false;
}

static void count_concerned(const struct hk_job *job, const Hk__ControlRequest *request,
			    Hk__ControlReply *reply)
{
	const struct hk_process *process;
	DL_FOREACH (job->processes, process) {
		/* Processes of other nodes get the change with the answer to their leaf's next
		 * report. */
		if (process->exited || !(process->segment || process->remote)) {
			continue;
		}
		reply->processes++;
		for (size_t i = 0; i < process->state->n_sites; i++) {
			reply->sites += matched(request, process->state, process->state->sites[i]);
		}
	}
}

static void log_change(const struct hk_job *job, const Hk__ControlRequest *request)
{
	char level[HK_LEVEL_BYTES];
	for (size_t i = 0; i < request->n_rules; i++) {
		const Hk__Rule *rule = request->rules[i];
		hk_info("level changed job=%s pattern=%s level=%s for_ns=%" PRIu64, job->state->id,
			rule->pattern, hk_level_print(rule->level, rule->stack_rate, level),
			request->for_ns);
	}
	if (request->tracing != HK__TRACING__TRACING_KEEP) {
		hk_info("tracing switched job=%s off=%d for_ns=%" PRIu64, job->state->id,
			(int)job->state->off, request->for_ns);
	}
}

int hk_rules_change(struct hk_job *job, const Hk__ControlRequest *request,
		    Hk__ControlReply *ret_reply)
{
	/* The limit is on the job's clock, which a step of the wall clock does not move. */
	uint64_t now = hk_root_clock_unix_ns(job->state), until = 0;
	struct rules rules;
	if (request->for_ns > 0 && __builtin_add_overflow(now, request->for_ns, &until)) {
		return -EINVAL;
	}
	borrow_rules(job, now, &rules);
	for (size_t i = 0; i < request->n_rules; i++) {
		int r = put_rule(&rules, request->rules[i], until);
		if (r < 0) {
			return r;
		}
	}
	int r = take_rules(job, &rules);
	if (r < 0) {
		return r;
	}
	if (request->tracing != HK__TRACING__TRACING_KEEP) {
		job->state->off = request->tracing == HK__TRACING__TRACING_OFF;
		job->state->off_until_unix_ns = job->state->off ? until : 0;
	}
	tell_all(job);
	count_concerned(job, request, ret_reply);
	log_change(job, request);
	return 0;
}

/* Converts a time of the root to a time on JOB's clock. */
static uint64_t our_time(const struct hk_job *job, uint64_t root_unix_ns, int64_t ahead_ns)
{
	uint64_t stepped_ns = unix_ns() - hk_root_clock_unix_ns(job->state);
	return root_unix_ns == 0 ? 0 : root_unix_ns - (uint64_t)ahead_ns - stepped_ns;
}

int hk_rules_adopt(struct hk_job *job, const Hk__LeafJobReply *reply, int64_t ahead_ns)
{
	struct rules rules = {.count = 0};
	for (size_t i = 0; i < reply->n_rules; i++) {
		if (!valid(reply->rules[i]) || append(&rules, reply->rules[i]) < 0) {
			return -EINVAL;
		}
	}
	int r = take_rules(job, &rules);
	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < job->state->n_rules; i++) {
		Hk__Rule *rule = job->state->rules[i];
		rule->until_unix_ns = our_time(job, rule->until_unix_ns, ahead_ns);
	}
	job->state->off = reply->off;
	job->state->off_until_unix_ns = our_time(job, reply->off_until_unix_ns, ahead_ns);
	tell_all(job);
	hk_info("levels of the root job=%s rules=%zu off=%d", job->state->id, rules.count,
		(int)reply->off);
	return 0;
}

void hk_rules_expire(struct hk_collector *collector)
{
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		Hk__Job *state = job->state;
		uint64_t now = hk_root_clock_unix_ns(state);
		struct rules rules;
		borrow_rules(job, now, &rules);
		bool back_on =
		    state->off && state->off_until_unix_ns != 0 && state->off_until_unix_ns <= now;
		if (state->closed || (!back_on && rules.count == state->n_rules)) {
			continue;
		}
		if (back_on) {
			state->off = false;
			state->off_until_unix_ns = 0;
		}
		/* Without memory for the shorter list, the next pass tries again. */
		if (rules.count < state->n_rules && take_rules(job, &rules) < 0 && !back_on) {
			continue;
		}
		hk_info("levels back job=%s", state->id);
		tell_all(job);
	}
}

int hk_rules_raise(struct hk_job *job, uint32_t level, uint64_t for_ns)
{
	Hk__Rule rule = HK__RULE__INIT, *list[] = {&rule};
	Hk__ControlRequest request = HK__CONTROL_REQUEST__INIT;
	Hk__ControlReply reply = HK__CONTROL_REPLY__INIT;
	char everything[] = "*";
	rule.pattern = everything;
	rule.level = level;
	rule.raise = true;
	request.rules = list;
	request.n_rules = 1;
	request.for_ns = for_ns;
	return hk_rules_change(job, &request, &reply);
}
