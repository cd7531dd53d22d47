/* rules.h: levels given to a job while it runs, and how its processes hear of them.
 *
 * They are kept in the job's own message, so they outlive the collector, and processes that start
 * later get them too. The agents put them in force at their next hooked call.
 */
#ifndef HK_COLLECTOR_LEVEL_RULES_H
#define HK_COLLECTOR_LEVEL_RULES_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_job;
struct hk_process;

/* Puts REQUEST in force and tells the processes. -EINVAL: a rule that no agent would take (pattern
 * empty or of HK_RULE_PATTERN_BYTES or more, unknown level); -ENOSPC: more than HK_RULES_MAX rules;
 * -ENOMEM. On failure nothing has changed. */
int hk_rules_change(struct hk_job *job, const Hk__ControlRequest *request,
		    Hk__ControlReply *ret_reply);

/* Puts in force what the root says is, in place of what is; times are by its clock, which is
 * AHEAD_NS ahead of ours. -EINVAL: no agent would take it; -ENOMEM; then nothing has changed. */
int hk_rules_adopt(struct hk_job *job, const Hk__LeafJobReply *reply, int64_t ahead_ns);

/* Tells PROCESS what holds for its rank now, if that or a ceiling given by the governor has changed
 * since it was told. */
void hk_rules_publish(struct hk_process *process);

/* Ends what was given for some time that is over, in all open jobs. */
void hk_rules_expire(struct hk_collector *collector);

#endif
