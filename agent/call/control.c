#include "agent/call/control.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/frame/site.h"
#include "agent/patch/patch.h"
#include "agent/record/layout.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "hooks/hook.h"
#include "hooks/pattern.h"

static_assert(offsetof(struct hk_process, writer.header) == HK_PROCESS_HEADER, "layout.h");
static_assert(offsetof(struct hk_segment_header, generation) == HK_HEADER_GENERATION, "layout.h");

/* What was published, copied and checked. */
struct published {
	uint32_t flags, count;
	struct hk_rule rules[HK_RULES_MAX];
};

/* One of the two is in force, the other one is written under the process lock: a fork may come at
 * any moment, and its child goes on with what is in force. */
static struct published copies[2];
static struct published *_Atomic in_force = &copies[0];
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
static bool copy(const struct hk_segment_header *header, uint32_t wanted, struct published *to)
{
	to->count = 0;
	to->flags = atomic_load_explicit(&header->control_flags, memory_order_relaxed);
	for (uint32_t i = 0; i < HK_RULES_MAX; i++) {
		to->rules[to->count] = header->rules[i];
		to->count += sound(&to->rules[to->count]);
	}
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&header->control_version, memory_order_relaxed) == wanted;
}

static bool apply(void)
{
	const struct hk_segment_header *header = hk_process.writer.header;
	uint32_t now = atomic_load_explicit(&header->control_version, memory_order_acquire);
	/* A forked child goes on as its parent was until somebody writes into its own segment. */
	if (now == (header == of ? version : 0) || now & 1) {
		return true; /* while it is written, the generation is yet to be raised */
	}
	if (!hk_process_lock()) {
		return false;
	}
	struct published *other = &copies[atomic_load(&in_force) == &copies[0]];
	if ((header != of || now != version) && copy(header, now, other)) {
		of = header;
		version = now;
		atomic_store(&in_force, other);
		hk_site_relevel();
	}
	hk_process_unlock();
	return true;
}

uint8_t hk_control_level(const char *provider, const char *function, uint8_t level, uint8_t *pinned)
{
	const struct published *published = atomic_load_explicit(&in_force, memory_order_acquire);
	for (uint32_t i = published->count; i > 0; i--) {
		const struct hk_rule *rule = &published->rules[i - 1];
		if (hk_pattern_match_function(rule->pattern, provider, function)) {
			level = rule->level;
			*pinned = 1;
			break;
		}
	}
	return published->flags & HK_SEGMENT_OFF ? (uint8_t)HK_LEVEL_OFF : level;
}

bool hk_control_heed(uint32_t generation)
{
	/* Without a segment of its own it would read that of a parent. */
	bool heeded = !hk_process.on || apply();
	hk_generation_seen = heeded ? generation : generation - 1;
	hk_patch_look();
	return heeded;
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
