#include "agent/frame/rules.h"

#include <stdatomic.h>
#include <stddef.h>

#include "hooks/hook.h"
#include "hooks/pattern.h"

/* A checked copy of the published rules. */
struct published {
	uint32_t flags, count;
	struct hk_rule rules[HK_RULES_MAX];
};

/* One copy is in force, and the other one is written under the process lock: a fork may come at any
 * moment, and its child uses the copy in force. */
static struct published copies[2];
static struct published *_Atomic in_force = &copies[0];
static const struct hk_segment_header *of; /* segment of the copy */
static uint32_t of_version;
static _Atomic bool pause_wanted, paused;

static bool sound(const struct hk_rule *rule)
{
	size_t length = 0;
	while (length < sizeof(rule->pattern) && rule->pattern[length]) {
		length++;
	}
	return length > 0 && length < sizeof(rule->pattern) && rule->level > HK_LEVEL_DEFAULT &&
	       rule->level <= HK_LEVEL_STACK;
}

/* Copies the rules. Returns false if they changed meanwhile: the generation is then raised again.
 */
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

uint32_t hk_rules_version(const struct hk_segment_header *header)
{
	return atomic_load_explicit(&header->control_version, memory_order_acquire);
}

bool hk_rules_are_new(const struct hk_segment_header *header, uint32_t version)
{
	return version != (header == of ? of_version : 0) && !(version & 1);
}

bool hk_rules_take(const struct hk_segment_header *header, uint32_t version)
{
	struct published *other = &copies[atomic_load(&in_force) == &copies[0]];
	if ((header == of && version == of_version) || !copy(header, version, other)) {
		return false;
	}
	of = header;
	of_version = version;
	atomic_store(&in_force, other);
	return true;
}

void hk_rules_pause(bool wanted)
{
	atomic_store_explicit(&pause_wanted, wanted, memory_order_release);
}

bool hk_rules_pause_is_new(void)
{
	return atomic_load_explicit(&pause_wanted, memory_order_acquire) !=
	       atomic_load_explicit(&paused, memory_order_relaxed);
}

bool hk_rules_pause_take(void)
{
	bool wanted = atomic_load_explicit(&pause_wanted, memory_order_acquire);
	return atomic_exchange_explicit(&paused, wanted, memory_order_relaxed) != wanted;
}

/* Later calls depend on memory, communicators and names of kernels. Work of a device is reported
 * after it was done, and so in a pause that began later. */
static bool is_followed(uint8_t meaning)
{
	return (meaning >= HK_MEANING_ALLOC && meaning <= HK_MEANING_REMAP) ||
	       meaning == HK_MEANING_COMM || meaning == HK_MEANING_KERNEL ||
	       hk_meaning_is_activity(meaning);
}

uint8_t hk_rules_cap(uint8_t level, uint8_t meaning)
{
	bool lower = level > HK_LEVEL_COUNT && !is_followed(meaning) &&
		     atomic_load_explicit(&paused, memory_order_relaxed);
	return lower ? (uint8_t)HK_LEVEL_COUNT : level;
}

void hk_rules_forget(void)
{
	struct published *other = &copies[atomic_load(&in_force) == &copies[0]];
	other->flags = other->count = 0;
	of = NULL;
	hk_rules_pause(false);
	atomic_store(&in_force, other);
}

uint8_t hk_rules_level(const char *provider, const char *function, uint8_t level, uint8_t *pinned,
		       uint32_t *stack_rate)
{
	const struct published *published = atomic_load_explicit(&in_force, memory_order_acquire);
	const struct hk_rule *raising = NULL;
	for (uint32_t i = published->count; i > 0; i--) {
		const struct hk_rule *rule = &published->rules[i - 1];
		if (!hk_pattern_match_function(rule->pattern, provider, function)) {
			continue;
		}
		if (rule->raise) {
			raising = raising ? raising : rule;
			continue;
		}
		level = rule->level;
		*pinned = 1;
		*stack_rate = rule->stack_rate;
		break;
	}
	if (raising && level != HK_LEVEL_OFF) {
		*pinned = 1;
		*stack_rate = raising->level > level ? raising->stack_rate : *stack_rate;
		level = raising->level > level ? raising->level : level;
	}
	return published->flags & HK_SEGMENT_OFF ? (uint8_t)HK_LEVEL_OFF : level;
}
