#include "collector/trigger/fired.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "trigger/plan.h"
#include "wire/message.h"

/* Returns the triggers of JOB, which it makes if there are none, or NULL without memory. */
static Hk__Triggers *triggers_of(struct hk_job *job)
{
	if (!job->state->triggers) {
		Hk__Triggers *triggers = malloc(sizeof(*triggers));
		if (!triggers) {
			return NULL;
		}
		hk__triggers__init(triggers);
		job->state->triggers = triggers;
	}
	return job->state->triggers;
}

int hk_fired_plan(struct hk_job *job, const Hk__TriggerPlan *plan)
{
	Hk__Triggers *triggers = triggers_of(job);
	ProtobufCMessage *copy;
	uint8_t *bytes;
	size_t size;
	int r = triggers ? hk_message_pack(&plan->base, &bytes, &size) : -ENOMEM;
	if (r < 0) {
		return r;
	}
	r = hk_message_unpack(&hk__trigger_plan__descriptor, bytes, size, &copy);
	free(bytes);
	if (r == 0) {
		triggers->plan = (Hk__TriggerPlan *)copy;
		job->changed = true;
	}
	return r;
}

static int fill(Hk__Trigger *trigger, const struct hk_cause *cause)
{
	char directory[64];
	snprintf(directory, sizeof(directory), HK_TRIGGER_DIRECTORY "%u", trigger->number);
	trigger->rank = cause->rank;
	trigger->value = (uint64_t)(cause->value * 1000 + 0.5);
	trigger->limit = (uint64_t)(cause->limit * 1000 + 0.5);
	trigger->open = true;
	int r = hk_field_set_string(&trigger->condition, cause->condition);
	r = r < 0 ? r : hk_field_set_string(&trigger->function, cause->function);
	r = r < 0 ? r : hk_field_set_string(&trigger->saw, cause->saw ? cause->saw : "");
	return r < 0 ? r : hk_field_set_string(&trigger->directory, directory);
}

int hk_fired_add(struct hk_job *job, const struct hk_cause *cause, uint64_t at_unix_ns,
		 Hk__Trigger **ret_trigger)
{
	Hk__Triggers *triggers = job->state->triggers;
	Hk__Trigger *trigger = malloc(sizeof(*trigger));
	Hk__Trigger **fired =
	    reallocarray(triggers->fired, triggers->n_fired + 1, sizeof(Hk__Trigger *));
	if (fired) {
		triggers->fired = fired;
	}
	if (!trigger || !fired) {
		free(trigger);
		return -ENOMEM;
	}
	hk__trigger__init(trigger);
	trigger->number = (uint32_t)triggers->n_fired + 1;
	trigger->at_unix_ns = at_unix_ns;
	int r = fill(trigger, cause);
	if (r < 0) {
		hk__trigger__free_unpacked(trigger, NULL);
		return r;
	}
	fired[triggers->n_fired++] = trigger;
	job->changed = true;
	hk_info("trigger fired job=%s number=%u condition='%s' saw='%s' rank=%d function=%s",
		job->state->id, trigger->number, trigger->condition, trigger->saw,
		(int)trigger->rank, trigger->function);
	*ret_trigger = trigger;
	return 0;
}

void hk_fired_take_back(struct hk_job *job)
{
	Hk__Triggers *triggers = job->state->triggers;
	hk__trigger__free_unpacked(triggers->fired[--triggers->n_fired], NULL);
}

void hk_fired_refuse(struct hk_job *job, const struct hk_cause *cause, const char *reason)
{
	Hk__Triggers *triggers = job->state->triggers;
	char why[256];
	snprintf(why, sizeof(why), "%s: %s", cause->condition, reason);
	triggers->refused++;
	hk_field_set_string(&triggers->refused_why, why);
	hk_warning("trigger refused job=%s %s", job->state->id, why);
	job->changed = true;
}
