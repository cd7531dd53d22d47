#include "control.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "frame/site.h"
#include "hooks/hook.h"
#include "hooks/pattern.h"
#include "record/process.h"

/* What was published, copied and checked. Guarded by the process lock. */
struct published {
	uint32_t flags, count;
	struct hk_rule rules[HK_RULES_MAX];
};

static struct published in_force, candidate;
static const struct hk_segment_header *of; /* the segment it came from */
static uint32_t version;

static bool sound(const struct hk_rule *rule)
{
	size_t length = 0;
	while (length < sizeof(rule->pattern) && rule->pattern[length]) {
		length++;
	}
	return length > 0 && length < sizeof(rule->pattern) && rule->level > HK_LEVEL_DEFAULT &&
	       rule->level <= HK_LEVEL_STACK;
}

/* False if it changed under our hands: the generation is raised again then. */
static bool copy(const struct hk_segment_header *header, uint32_t wanted)
{
	candidate.count = 0;
	candidate.flags = atomic_load_explicit(&header->control_flags, memory_order_relaxed);
	for (uint32_t i = 0; i < HK_RULES_MAX; i++) {
		candidate.rules[candidate.count] = header->rules[i];
		candidate.count += sound(&candidate.rules[candidate.count]);
	}
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&header->control_version, memory_order_relaxed) == wanted;
}

void hk_control_apply(void)
{
	const struct hk_segment_header *header = hk_process.writer.header;
	uint32_t now = atomic_load_explicit(&header->control_version, memory_order_acquire);
	/* A forked child goes on as its parent was until somebody writes into its own segment. */
	if (now == (header == of ? version : 0) || now & 1 || !hk_process_lock()) {
		return;
	}
	if ((header != of || now != version) && copy(header, now)) {
		of = header;
		version = now;
		in_force = candidate;
		hk_site_relevel();
	}
	hk_process_unlock();
}

uint8_t hk_control_level(const char *provider, const char *function, uint8_t level, uint8_t *pinned)
{
	for (uint32_t i = in_force.count; i > 0; i--) {
		const struct hk_rule *rule = &in_force.rules[i - 1];
		if (hk_pattern_match_function(rule->pattern, provider, function)) {
			level = rule->level;
			*pinned = 1;
			break;
		}
	}
	return in_force.flags & HK_SEGMENT_OFF ? (uint8_t)HK_LEVEL_OFF : level;
}
