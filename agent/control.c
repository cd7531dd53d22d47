#include "control.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "frame/layout.h"
#include "frame/site.h"
#include "hooks/hook.h"
#include "hooks/pattern.h"
#include "patch/patch.h"
#include "record/process.h"
#include "record/thread.h"

static_assert(offsetof(struct hk_process, writer.header) == HK_PROCESS_HEADER, "layout.h");
static_assert(offsetof(struct hk_segment_header, generation) == HK_HEADER_GENERATION, "layout.h");

/* What was published, copied and checked. Guarded by the process lock. */
struct published {
	uint32_t flags, count;
	struct hk_rule rules[HK_RULES_MAX];
};

static struct published in_force, candidate;
static const struct hk_segment_header *of; /* the segment it came from */
static uint32_t version;

uint32_t hk_generation_seen;

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

static void apply(void)
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

void hk_control_heed(uint32_t generation)
{
	hk_generation_seen = generation;
	if (hk_process.on) { /* else the segment is that of a parent */
		apply();
	}
	hk_patch_look();
}

int hk_control_poll(void *unused, void *none)
{
	(void)unused;
	(void)none;
	if (hk_inside) {
		return 0;
	}
	uint64_t signals = hk_process_block_signals();
	hk_inside = 1;
	int saved_errno = errno;
	if (hk_process_forked()) {
		hk_thread_enter(); /* what its parent's segment says is not for the child */
	}
	hk_control_heed(
	    atomic_load_explicit(&hk_process.writer.header->generation, memory_order_acquire));
	errno = saved_errno;
	hk_inside = 0;
	hk_process_restore_signals(signals);
	return 0;
}
