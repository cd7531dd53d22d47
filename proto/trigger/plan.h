/* plan.h: what a job wants of triggers: conditions, and what is done when one holds. Pure functions
 * on the caller's data. */
#ifndef HK_TRIGGER_PLAN_H
#define HK_TRIGGER_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"
#include "trigger/condition.h"

#define HK_PLAN_CONDITIONS 8u /* most of a job */
#define HK_PLAN_WHY_BYTES 512u
/* Begin of the directory with what a trigger kept, below the job's: its number follows. */
#define HK_TRIGGER_DIRECTORY "trigger-"

struct hk_plan {
	struct hk_condition conditions[HK_PLAN_CONDITIONS];
	size_t count;
	uint64_t keep_ns, raise_ns, most_bytes;
	uint32_t level; /* enum hk_level, 0: levels are not raised */
};

/* Values of the settings, as typed; NULL: the default. */
struct hk_plan_options {
	const char *conditions; /* a list by comma */
	const char *keep, *raise, *level, *size;
};

/* Reads OPTIONS. Returns 0, or -EINVAL with one line in WHY: the option, its value, and what would
 * be right. */
int hk_plan_parse(const struct hk_plan_options *options, struct hk_plan *ret_plan,
		  char why[HK_PLAN_WHY_BYTES]);

/* Reads a message, whose values any client may have sent. Returns 0 or -EINVAL. */
int hk_plan_read(const Hk__TriggerPlan *message, struct hk_plan *ret_plan);

/* A message that borrows from PLAN. */
struct hk_plan_message {
	Hk__TriggerPlan message;
	char *texts[HK_PLAN_CONDITIONS];
};
void hk_plan_write(struct hk_plan *plan, struct hk_plan_message *ret_message);

#endif
