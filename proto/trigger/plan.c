#include "trigger/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hooks/hook.h"
#include "hooks/names.h"
#include "settings/keep.h"

#define SECOND_NS UINT64_C(1000000000)
#define KEEP_NS (10 * SECOND_NS)
#define RAISE_NS (5 * SECOND_NS)
#define TIME_MOST_NS (3600 * SECOND_NS)
#define MOST_BYTES (UINT64_C(256) << 20)

static int refuse(char why[HK_PLAN_WHY_BYTES], const char *option, const char *value,
		  const char *reason)
{
	snprintf(why, HK_PLAN_WHY_BYTES, "--%s '%.*s': %s", option, (int)HK_CONDITION_BYTES, value,
		 reason);
	return -EINVAL;
}

static int take_conditions(const char *list, struct hk_plan *plan, char why[HK_PLAN_WHY_BYTES])
{
	while (list && *list) {
		char text[HK_CONDITION_BYTES + 1];
		size_t length = strcspn(list, ",");
		const char *reason = "expected at most 159 bytes";
		int r = -EINVAL;
		snprintf(text, sizeof(text), "%.*s", (int)length, list);
		if (plan->count == HK_PLAN_CONDITIONS) {
			reason = "expected at most 8 conditions";
		} else if (length < HK_CONDITION_BYTES) {
			r = hk_condition_parse(text, &plan->conditions[plan->count], &reason);
		}
		if (r < 0) {
			return refuse(why, "trigger", text, reason);
		}
		plan->count++;
		list += length + (list[length] == ',');
	}
	return 0;
}

/* Reads a whole number of seconds: "10s". */
static int take_seconds(const char *option, const char *value, uint64_t least_ns, uint64_t *ns,
			char why[HK_PLAN_WHY_BYTES])
{
	struct hk_keep keep;
	uint64_t most = TIME_MOST_NS;

	if (!value) {
		return 0;
	}
	if (least_ns == 0 && strcmp(value, "0s") == 0) {
		*ns = 0;
		return 0;
	}
	if (hk_keep_parse(value, &keep) < 0 || keep.ns == UINT64_MAX || keep.ns > most) {
		return refuse(why, option, value, "expected seconds, at most 3600s, such as 10s");
	}
	*ns = keep.ns;
	return 0;
}

static int take_level(const char *value, struct hk_plan *plan, char why[HK_PLAN_WHY_BYTES])
{
	uint32_t stack_rate;
	int level = value ? hk_level_parse(value, &stack_rate) : (int)HK_LEVEL_RECORD;

	if (value && strcmp(value, "off") == 0) {
		plan->level = 0;
		return 0;
	}
	if (level < (int)HK_LEVEL_RECORD || (value && strchr(value, ':'))) {
		return refuse(why, "trigger-level", value,
			      "expected record, record+args, record+stack or off");
	}
	plan->level = (uint32_t)level;
	return 0;
}

static int take_size(const char *value, struct hk_plan *plan, char why[HK_PLAN_WHY_BYTES])
{
	if (value && (hk_keep_parse_bytes(value, &plan->most_bytes) < 0 || plan->most_bytes == 0)) {
		return refuse(why, "trigger-size", value,
			      "expected a number with K, M or G, or all");
	}
	return 0;
}

int hk_plan_parse(const struct hk_plan_options *options, struct hk_plan *ret_plan,
		  char why[HK_PLAN_WHY_BYTES])
{
	struct hk_plan *plan = ret_plan;

	*plan =
	    (struct hk_plan){.keep_ns = KEEP_NS, .raise_ns = RAISE_NS, .most_bytes = MOST_BYTES};
	int r = take_conditions(options->conditions, plan, why);
	r = r < 0 ? r : take_seconds("trigger-keep", options->keep, 1, &plan->keep_ns, why);
	r = r < 0 ? r : take_seconds("trigger-for", options->raise, 0, &plan->raise_ns, why);
	r = r < 0 ? r : take_level(options->level, plan, why);
	return r < 0 ? r : take_size(options->size, plan, why);
}

int hk_plan_read(const Hk__TriggerPlan *message, struct hk_plan *ret_plan)
{
	const char *why;
	struct hk_plan plan = {
	    .keep_ns = message->keep_ns,
	    .raise_ns = message->raise_ns,
	    .most_bytes = message->most_bytes,
	    .level = message->level,
	};

	if (message->n_conditions > HK_PLAN_CONDITIONS || plan.keep_ns == 0 ||
	    plan.keep_ns > TIME_MOST_NS || plan.raise_ns > TIME_MOST_NS || plan.most_bytes == 0 ||
	    (plan.level != 0 && (plan.level < HK_LEVEL_RECORD || plan.level > HK_LEVEL_STACK))) {
		return -EINVAL;
	}
	for (; plan.count < message->n_conditions; plan.count++) {
		int r = hk_condition_parse(message->conditions[plan.count],
					   &plan.conditions[plan.count], &why);
		if (r < 0) {
			return r;
		}
	}
	*ret_plan = plan;
	return 0;
}

void hk_plan_write(struct hk_plan *plan, struct hk_plan_message *ret_message)
{
	Hk__TriggerPlan *message = &ret_message->message;

	hk__trigger_plan__init(message);
	for (size_t i = 0; i < plan->count; i++) {
		ret_message->texts[i] = plan->conditions[i].text;
	}
	message->conditions = ret_message->texts;
	message->n_conditions = plan->count;
	message->keep_ns = plan->keep_ns;
	message->raise_ns = plan->raise_ns;
	message->most_bytes = plan->most_bytes;
	message->level = plan->level;
}
