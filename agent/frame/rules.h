/* rules.h: the rules in force: levels that the collector published in the segment, by pattern, and
 * whether the program has paused its records.
 *
 * Written under the process lock, read by any thread without it.
 */
#ifndef HK_AGENT_FRAME_RULES_H
#define HK_AGENT_FRAME_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/segment.h"

/* The version of what HEADER publishes; odd while it is written. */
uint32_t hk_rules_version(const struct hk_segment_header *header);

/* Returns whether VERSION of HEADER is complete and not in force. A forked child keeps its parent's
 * rules until its own segment publishes rules. */
bool hk_rules_are_new(const struct hk_segment_header *header, uint32_t version);

/* Puts VERSION of HEADER in force. Returns false if it was in force already, or changed meanwhile:
 * the generation is raised again then. Under the process lock. */
bool hk_rules_take(const struct hk_segment_header *header, uint32_t version);

/* Asks for a pause, or for its end. Any thread. */
void hk_rules_pause(bool paused);

/* The first returns whether that is not in force yet. The second puts it in force and returns the
 * same: levels must then be set again. The second is called under the process lock. */
bool hk_rules_pause_is_new(void);
bool hk_rules_pause_take(void);

/* Returns LEVEL of a site of MEANING (enum hk_meaning), or the lower one that it has in a pause. */
uint8_t hk_rules_cap(uint8_t level, uint8_t meaning);

/* Puts no rule in force, and asks for no pause. Under the process lock. */
void hk_rules_forget(void);

/* Returns the level of a site whose level without rules is LEVEL. Sets *pinned to 1 if the user set
 * it, and *stack_rate to the rule's limit of stacks. Under the process lock. */
uint8_t hk_rules_level(const char *provider, const char *function, uint8_t level, uint8_t *pinned,
		       uint32_t *stack_rate);

#endif
