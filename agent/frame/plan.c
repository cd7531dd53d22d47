#include "agent/frame/plan.h"

#include "agent/frame/message.h"
#include "agent/frame/word.h"
#include "ring/segment.h"

int (*hk_observer)(void *call, void *observed);

bool hk_plan_devices;

extern uint8_t hk_clock_by_call; /* site.c */

static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

bool hk_plan_is_device(const char *domain)
{
	return hk_plan_devices && (is_same(domain, "cuda") || is_same(domain, "acl") ||
				   is_same(domain, "aclnn") || is_same(domain, "hccl"));
}

/* Finds the word of each plain value of HOOK. Returns whether all values are plain. */
static bool plain_words(const struct hk_hook *hook, uint8_t word[HK_HOOK_VALUES])
{
	/* Calls about device memory check the calls around them: see is_within(). */
	bool plain = hk_hook_memory(hook->flags) == HK_MEMORY_HOST;
	for (uint32_t i = 0; i < hook->value_count; i++) {
		if (!hk_word_of_value(hook, &hook->values[i], &word[i])) {
			word[i] = HK_WORD_NONE;
			plain = false;
		}
	}
	return plain;
}

uint8_t hk_plan_flags(const struct hk_site_hot *hot)
{
	const struct hk_hook *hook = hot->hook;
	uint8_t word[HK_HOOK_VALUES];
	bool record = hot->level >= HK_LEVEL_RECORD;
	bool plain = plain_words(hook, word), bytes = hot->bytes < HK_HOOK_VALUES;
	/* New communicators and names of kernels are followed at every level, because later calls
	 * depend on them. */
	bool followed = hook->meaning == HK_MEANING_COMM || hook->meaning == HK_MEANING_KERNEL;
	bool wanted = hook->value_count && (record || bytes || followed);
	bool error = hook->error != HK_ERROR_NEVER, null = hook->error == HK_ERROR_NULL;
	bool arguments = hot->level >= HK_LEVEL_ARGS;
	/* Changes of communicators, and samples that stand for other calls, are handled on the long
	 * way out. */
	bool quick = hot->level > HK_LEVEL_SAMPLE && !arguments && !hk_observer &&
		     hook->meaning != HK_MEANING_COMM &&
		     !(hot->stack_words & HK_STACK_WORDS_DEVICE);
	bool usual = quick && (!wanted || (plain && !bytes)) && (!error || null) &&
		     !(hot->stack_words & HK_STACK_WORDS_WORK);
	return (uint8_t)((record ? HK_HOT_RECORD : 0) | (plain ? HK_HOT_SIMPLE : 0) |
			 (wanted ? HK_HOT_VALUES : 0) | (quick ? HK_HOT_QUICK : 0) |
			 (null ? HK_HOT_NULL : 0) | (arguments ? HK_HOT_ARGUMENTS : 0) |
			 (usual ? 0 : HK_HOT_UNUSUAL));
}

void hk_plan_site(struct hk_site_hot *hot, uint32_t number)
{
	plain_words(hot->hook, hot->word);
	hot->payload = hot->hook->value_count;
	hot->bytes = HK_HOOK_VALUES;
	for (uint8_t i = 0; i < hot->payload; i++) {
		hot->bytes = hot->hook->values[i].key == HK_KEY_BYTES ? i : hot->bytes;
	}
	hot->word1 = hk_record_word1(0, number, HK_RECORD_CALL, hot->payload);
	hot->flags = hk_plan_flags(hot);
	hot->message = hot->flags & HK_HOT_SIMPLE ? NULL : hk_message_plan(hot->hook);
}

uint8_t hk_plan_exit(const struct hk_hook *hook)
{
	if (hk_clock_by_call) {
		return HK_EXIT_BY_CALL;
	}
	/* An unordered read understates calls shorter than about a microsecond, and an undescribed
	 * function may be that short. */
	bool ordered = (hook->flags & HK_HOOK_SHORT) || !(hook->flags & HK_HOOK_DESCRIBED);
	return ordered ? HK_EXIT_ORDERED : HK_EXIT_UNORDERED;
}

static bool has_vectors(const struct hk_hook *hook)
{
	for (uint32_t i = 0; i < hook->arg_count; i++) {
		if (hook->args[i].place == HK_PLACE_FLOAT) {
			return true;
		}
	}
	return false;
}

/* Returns whether ranks wait for each other in calls of HOOK, and work between them. Of torch's
 * threads those that carry out collectives do not work between them. */
static bool is_joint(const struct hk_hook *hook)
{
	return is_same(hook->domain, "mpi") ||
	       (is_same(hook->domain, "c10d") && hook->meaning != HK_MEANING_NONE);
}

uint8_t hk_plan_stack_words(const struct hk_hook *hook)
{
	uint8_t passing =
	    (hook->flags & HK_HOOK_DESCRIBED) ? HK_STACK_WORDS_COPIED : HK_STACK_WORDS_STAY;
	/* Calls in which ranks wait for each other end a stretch of work. */
	return (hook->stack_words ? passing : 0) | (hk_clock_by_call ? HK_STACK_WORDS_CLOCK : 0) |
	       (is_joint(hook) ? HK_STACK_WORDS_WORK : 0) |
	       (hk_plan_is_device(hook->domain) ? HK_STACK_WORDS_DEVICE : 0) |
	       (has_vectors(hook) ? HK_STACK_WORDS_VECTOR : 0);
}
