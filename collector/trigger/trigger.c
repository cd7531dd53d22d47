#include "collector/trigger/trigger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/job/root_clock.h"
#include "collector/level/rules.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/process.h"
#include "collector/process/process_state.h"
#include "collector/spool/drain.h"
#include "collector/spool/retention.h"
#include "collector/trigger/capture.h"
#include "collector/trigger/finding_watch.h"
#include "collector/trigger/fired.h"
#include "collector/trigger/watch.h"
#include "trigger/plan.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOK_NS SECOND_NS
#define STEP_NS UINT64_C(100000000)
/* A condition is seen up to a look and a chunk later than its calls. */
#define LATE_NS (2 * SECOND_NS)
/* Longest wait for the last records of other nodes. */
#define NODES_NS (5 * SECOND_NS)
/* Further triggers prolong one to at most so many times what the plan keeps. */
#define PROLONG_MOST 10u
/* Longest copying at a job's end before requests are answered. */
#define ENDING_NS (SECOND_NS / 5)

struct hk_triggers {
	struct hk_plan plan;
	struct hk_watch *watch;
	struct hk_finding_watch findings;
	struct hk_capture *capture; /* NULL: nothing is being kept */
	Hk__Trigger *current;	    /* its trigger; the job's */
	bool past;		    /* its window is over */
	uint64_t look_due_ns, step_due_ns;
	uint64_t fired_ns[HK_PLAN_CONDITIONS]; /* monotonic; 0: never */
};

/* ---- plans ---- */

void hk_triggers_adopt(struct hk_job *job, const Hk__TriggerPlan *plan)
{
	struct hk_plan checked;
	if (!plan || (job->state->triggers && job->state->triggers->plan) ||
	    hk_plan_read(plan, &checked) < 0) {
		return;
	}
	/* Without memory the job has no triggers. */
	(void)hk_fired_plan(job, plan);
}

static void adopt_parsed(struct hk_job *job, struct hk_plan *plan)
{
	struct hk_plan_message message;
	hk_plan_write(plan, &message);
	hk_triggers_adopt(job, &message.message);
}

static struct hk_triggers *triggers_free(struct hk_triggers *triggers)
{
	if (triggers) {
		hk_watch_free(triggers->watch);
		hk_capture_free(triggers->capture);
		free(triggers);
	}
	return NULL;
}

/* Begins to keep the records of TRIGGER, AGAIN after an earlier collector. Returns 0 or -errno. */
static int keep(struct hk_job *job, struct hk_triggers *triggers, Hk__Trigger *trigger, bool again)
{
	int r =
	    hk_capture_begin(job, trigger, again, triggers->plan.most_bytes, &triggers->capture);
	if (r < 0) {
		return r;
	}
	triggers->current = trigger;
	triggers->past = false;
	triggers->step_due_ns = 0;
	return 0;
}

/* TRIGGER keeps no more, for REASON. */
static void give_up(const struct hk_job *job, Hk__Trigger *trigger, const char *reason)
{
	hk_warning("records of trigger %u not kept job=%s error=%s", trigger->number,
		   job->state->id, reason);
	hk_field_set_string(&trigger->problem, reason);
	trigger->open = false;
}

/* Continues with the trigger that an earlier collector began to keep. */
static void resume(struct hk_job *job, struct hk_triggers *triggers)
{
	const Hk__Triggers *state = job->state->triggers;
	job->held_from_ns = 0;
	for (size_t i = 0; i < state->n_fired; i++) {
		Hk__Trigger *trigger = state->fired[i];
		if (!trigger->open) {
			continue;
		}
		int r = triggers->capture ? -EBUSY : keep(job, triggers, trigger, true);
		if (r < 0) {
			give_up(job, trigger,
				r == -EBUSY ? "another trigger was open" : strerror(-r));
			job->changed = true;
		}
	}
}

/* Returns what watches JOB, which has a plan, or NULL without memory. */
static struct hk_triggers *begin(struct hk_job *job)
{
	const Hk__Triggers *state = job->state->triggers;
	struct hk_triggers *triggers = calloc(1, sizeof(*triggers));
	if (!triggers || hk_plan_read(state->plan, &triggers->plan) < 0) {
		return triggers_free(triggers);
	}
	triggers->watch = hk_watch_new(triggers->plan.conditions, triggers->plan.count);
	if (!triggers->watch) {
		return triggers_free(triggers);
	}
	resume(job, triggers);
	return triggers;
}

/* Returns what watches JOB, or NULL: nothing does. */
static struct hk_triggers *triggers_of(struct hk_collector *collector, struct hk_job *job)
{
	if (job->triggers || collector->options.upstream) {
		return job->triggers;
	}
	if (collector->options.triggers && collector->options.triggers->count > 0) {
		adopt_parsed(job, collector->options.triggers);
	}
	if (job->state->triggers && job->state->triggers->plan) {
		job->triggers = begin(job);
	}
	return job->triggers;
}

/* ---- the end of what is kept ---- */

/* Puts all records of this node's processes into chunks. */
static void seal(struct hk_collector *collector, struct hk_job *job)
{
	struct hk_process *process;
	DL_FOREACH (job->processes, process) {
		if (process->segment && !process->exited) {
			hk_state_refresh(collector, process, false);
			hk_drain_seal(collector, process);
		}
	}
}

/* Once the end of the window is past, puts the last records of it into chunks. */
static void seal_past(struct hk_collector *collector, struct hk_job *job,
		      struct hk_triggers *triggers)
{
	if (triggers->capture && !triggers->past &&
	    hk_root_clock_unix_ns(job->state) > triggers->current->until_unix_ns) {
		seal(collector, job);
		triggers->past = true;
	}
}

static void end_capture(struct hk_collector *collector, struct hk_job *job,
			struct hk_triggers *triggers)
{
	if (!triggers->capture) {
		return;
	}
	hk_capture_end(triggers->capture, collector, job);
	triggers->capture = hk_capture_free(triggers->capture);
	triggers->current = NULL;
}

/* ---- firing ---- */

/* Raises levels until the trigger's end. A failure is named. */
static void raise_levels(struct hk_job *job, const struct hk_plan *plan, Hk__Trigger *trigger)
{
	if (plan->level == 0 || plan->raise_ns == 0) {
		return;
	}
	int r = hk_rules_raise(job, plan->level, plan->raise_ns);
	trigger->level = r < 0 ? 0 : plan->level;
	if (r < 0 && !*trigger->problem) {
		hk_field_set_string(&trigger->problem,
				    r == -ENOSPC ? "levels not raised: the job has as many "
						   "rules as an agent takes"
						 : "levels not raised");
	}
}

/* Prolongs the trigger that is being kept. */
static void prolong(struct hk_job *job, const struct hk_plan *plan, Hk__Trigger *trigger,
		    uint64_t now)
{
	uint64_t most = trigger->at_unix_ns + PROLONG_MOST * (plan->keep_ns + plan->raise_ns);
	uint64_t until = now + plan->raise_ns < most ? now + plan->raise_ns : most;
	trigger->prolonged++;
	trigger->until_unix_ns = until > trigger->until_unix_ns ? until : trigger->until_unix_ns;
	raise_levels(job, plan, trigger);
}

/* Fires for CAUSE. Returns 0 with the trigger, or -errno: it is counted as refused. */
static int fire(struct hk_collector *collector, struct hk_job *job, struct hk_triggers *triggers,
		const struct hk_cause *cause, Hk__Trigger **ret_trigger)
{
	const struct hk_plan *plan = &triggers->plan;
	uint64_t now = hk_root_clock_unix_ns(job->state);
	Hk__Trigger *trigger = triggers->current;
	job->changed = true;
	if (triggers->capture && !triggers->past) {
		prolong(job, plan, trigger, now);
		*ret_trigger = trigger;
		return 0;
	}
	/* Behind its end records were left out. */
	end_capture(collector, job, triggers);
	if (job->state->triggers->n_fired >= HK_TRIGGERS_MAX) {
		hk_fired_refuse(job, cause, "8 have fired, the most of a job");
		return -EDQUOT;
	}
	int r = hk_fired_add(job, cause, now, &trigger);
	if (r < 0) {
		hk_fired_refuse(job, cause, strerror(-r));
		return r;
	}
	trigger->from_unix_ns = now > plan->keep_ns ? now - plan->keep_ns : 0;
	trigger->until_unix_ns = now + plan->raise_ns;
	r = keep(job, triggers, trigger, false);
	if (r < 0) {
		hk_fired_take_back(job);
		hk_fired_refuse(job, cause, strerror(-r));
		return r;
	}
	raise_levels(job, plan, trigger);
	*ret_trigger = trigger;
	return 0;
}

int hk_triggers_fire(struct hk_collector *collector, struct hk_job *job, Hk__Trigger **ret_trigger)
{
	const struct hk_cause cause = {.condition = HK_CONDITION_HAND, .rank = -1, .function = ""};
	if (collector->options.upstream) {
		return -EXDEV;
	}
	struct hk_triggers *triggers = triggers_of(collector, job);
	if (!triggers && collector->options.triggers) {
		adopt_parsed(job, collector->options.triggers);
		triggers = triggers_of(collector, job);
	}
	if (triggers) {
		seal_past(collector, job, triggers);
	}
	return triggers ? fire(collector, job, triggers, &cause, ret_trigger) : -ENOMEM;
}

/* ---- looking ---- */

static void judge(struct hk_collector *collector, struct hk_job *job, struct hk_triggers *triggers,
		  size_t index, uint64_t now_ns)
{
	const struct hk_plan *plan = &triggers->plan;
	const struct hk_condition *condition = &plan->conditions[index];
	const struct hk_watch_saw *saw = hk_watch_saw(triggers->watch, index);
	uint64_t fired_ns = triggers->fired_ns[index];
	char text[HK_CONDITION_SAW_BYTES];
	Hk__Trigger *trigger;
	if (!hk_watch_begins(triggers->watch, index)) {
		return;
	}
	/* Deaths are seldom, and each one counts. */
	if (fired_ns != 0 && now_ns - fired_ns < plan->raise_ns &&
	    condition->kind != HK_CONDITION_SIGNAL) {
		job->state->triggers->too_soon++;
		job->changed = true;
		return;
	}
	const struct hk_cause cause = {
	    .condition = condition->text,
	    .saw = hk_condition_print(condition, saw->value, text),
	    .function = saw->function,
	    .rank = saw->rank,
	    .value = saw->value,
	    .limit = condition->limit,
	};
	triggers->fired_ns[index] = now_ns;
	fire(collector, job, triggers, &cause, &trigger);
}

static void look(struct hk_collector *collector, struct hk_job *job, struct hk_triggers *triggers,
		 uint64_t now_ns)
{
	struct hk_process *process;
	if (triggers->plan.count == 0) {
		return;
	}
	hk_watch_begin(triggers->watch);
	DL_FOREACH (job->processes, process) {
		if (process->segment && !process->exited) {
			hk_state_refresh(collector, process, false);
		}
		hk_watch_process(triggers->watch, process->state);
	}
	uint32_t unseen = hk_watch_unseen(triggers->watch);
	job->changed |= unseen != job->state->triggers->unseen;
	job->state->triggers->unseen = unseen;
	hk_finding_watch_look(&triggers->findings, job, &triggers->plan, triggers->watch, now_ns);
	for (size_t i = 0; i < triggers->plan.count; i++) {
		judge(collector, job, triggers, i, now_ns);
	}
}

/* ---- keeping ---- */

static void step_capture(struct hk_collector *collector, struct hk_job *job,
			 struct hk_triggers *triggers, uint64_t now_ns)
{
	if (!triggers->capture || now_ns < triggers->step_due_ns) {
		return;
	}
	uint64_t now = hk_root_clock_unix_ns(job->state), until = triggers->current->until_unix_ns;
	bool more = hk_capture_step(triggers->capture, job);
	triggers->step_due_ns = more ? 0 : now_ns + STEP_NS;
	if (triggers->past && !more &&
	    (hk_capture_has_all(triggers->capture, job) || now - until > NODES_NS)) {
		end_capture(collector, job, triggers);
	}
}

void hk_triggers_run(struct hk_collector *collector, uint64_t now_ns)
{
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		struct hk_triggers *triggers =
		    job->state->closed ? NULL : triggers_of(collector, job);
		if (!triggers) {
			job->held_from_ns = job->held_ns = 0;
			continue;
		}
		job->held_ns = triggers->plan.count > 0 ? triggers->plan.keep_ns + LATE_NS : 0;
		seal_past(collector, job, triggers);
		if (now_ns >= triggers->look_due_ns) {
			triggers->look_due_ns = now_ns + LOOK_NS;
			look(collector, job, triggers, now_ns);
		}
		step_capture(collector, job, triggers, now_ns);
	}
}

/* ---- the end of a job ---- */

/* Copies what is left of a job that ends, for a while. Returns whether that was all. */
static bool is_copied(struct hk_triggers *triggers, const struct hk_job *job)
{
	uint64_t begin_ns = hk_clock_monotonic_ns();
	while (triggers->capture && hk_capture_step(triggers->capture, job)) {
		if (hk_clock_monotonic_ns() - begin_ns >= ENDING_NS) {
			return false;
		}
	}
	return true;
}

int hk_triggers_observe(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event)
{
	struct hk_triggers *triggers = job->triggers;
	if (!triggers) {
		return 0;
	}
	if (event == HK_JOB_ENDING) {
		look(collector, job, triggers, hk_clock_monotonic_ns());
		if (!is_copied(triggers, job)) {
			return -EAGAIN;
		}
		end_capture(collector, job, triggers);
		job->held_ns = 0;
		while (hk_retention_apply(collector, job)) {
		}
	} else if (event == HK_JOB_CLOSED || event == HK_JOB_FORGOTTEN) {
		job->triggers = triggers_free(triggers);
		job->held_from_ns = job->held_ns = 0;
	}
	return 0;
}
