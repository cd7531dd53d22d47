/* rules.h: levels that a job gets while it runs, and their way to its processes.
 *
 * The job's message holds them, so they outlive the collector, and later processes get them too. An
 * agent applies them at its next hooked call.
 */
#ifndef HK_COLLECTOR_LEVEL_RULES_H
#define HK_COLLECTOR_LEVEL_RULES_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_job;
struct hk_process;

/* Applies REQUEST and publishes it to the processes. Returns 0, -EINVAL for a rule that agents
 * refuse (pattern empty or of HK_RULE_PATTERN_BYTES or more, unknown level), -ENOSPC for more than
 * HK_RULES_MAX rules, or -ENOMEM. A failure changes nothing. */
int hk_rules_change(struct hk_job *job, const Hk__ControlRequest *request,
		    Hk__ControlReply *ret_reply);

/* Raises the levels of all functions to LEVEL for FOR_NS, but for those that are off; then they are
 * again what the other rules and the governor make them. A second call replaces the first. Returns
 * as hk_rules_change. */
int hk_rules_raise(struct hk_job *job, uint32_t level, uint64_t for_ns);

/* Replaces the rules by the root's. Their times are on the root's clock, which is AHEAD_NS ahead of
 * this node's. Returns 0, -EINVAL if agents would refuse them, or -ENOMEM. A failure changes
 * nothing. */
int hk_rules_adopt(struct hk_job *job, const Hk__LeafJobReply *reply, int64_t ahead_ns);

/* Publishes the rules for its rank to PROCESS, if they or a ceiling of the governor have changed
 * since the last time. */
void hk_rules_publish(struct hk_process *process);

/* Ends the rules in all open jobs whose time is over. */
void hk_rules_expire(struct hk_collector *collector);

#endif
