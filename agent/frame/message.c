#include "agent/frame/message.h"

#include "agent/frame/word.h"
#include "agent/memory/arena.h"

/* Finds the word of argument NUMBER of HOOK and how it is widened. Returns false if the argument is
 * not in one word. */
static bool word_of(const struct hk_hook *hook, uint8_t number, uint8_t *ret_word,
		    uint8_t *ret_widening)
{
	const struct hk_value value = {.factor_count = 1,
				       .factors = {{.kind = HK_FACTOR_ARG, .arg = number}}};
	uint8_t plain;
	if (!hk_word_of_value(hook, &value, &plain)) {
		return false;
	}
	*ret_word = plain & HK_WORD_INDEX;
	*ret_widening = plain & HK_WORD_POINTEE;
	return *ret_widening != HK_WORD_POINTEE;
}

static bool is_number(const struct hk_hook *hook, uint8_t number, uint8_t *ret_word)
{
	uint8_t widening;
	return word_of(hook, number, ret_word, &widening) && widening == HK_WORD_SIGN32;
}

static bool plan_comm(const struct hk_hook *hook, const struct hk_factor *factor, uint8_t at,
		      struct hk_message *message)
{
	uint8_t widening;
	message->comm_at = at;
	return word_of(hook, factor->arg, &message->comm, &widening);
}

static bool plan_number(const struct hk_hook *hook, const struct hk_factor *factor, uint8_t at,
			struct hk_message *message)
{
	uint32_t i = message->number_count++;
	if (!is_number(hook, factor->arg, &message->numbers[i].word)) {
		return false;
	}
	message->numbers[i].at = at;
	if (factor->kind != HK_FACTOR_ARG) {
		message->has_sender++;
		message->sender = message->numbers[i].word;
	}
	return true;
}

/* Plans the bytes: a number of elements of a datatype, with at most one condition. */
static bool plan_bytes(const struct hk_hook *hook, const struct hk_value *value, uint8_t at,
		       struct hk_message *message)
{
	const struct hk_factor *factor = value->factors;
	uint32_t left = value->factor_count;
	uint8_t comm, widening;
	if (message->bytes != HK_MESSAGE_NONE || value->key != HK_KEY_BYTES) {
		return false;
	}
	message->bytes = HK_MESSAGE_ALWAYS;
	message->bytes_at = at;
	if (factor->kind == HK_FACTOR_SENT || factor->kind == HK_FACTOR_IS_ROOT) {
		bool root = factor->kind == HK_FACTOR_IS_ROOT;
		message->bytes = root ? HK_MESSAGE_ROOT : HK_MESSAGE_SENT;
		if (!word_of(hook, factor->arg, &message->tested, &widening) ||
		    (root &&
		     (!word_of(hook, factor->arg2, &comm, &widening) || comm != message->comm))) {
			return false;
		}
		factor++;
		left--;
	}
	return left == 2 && factor[0].kind == HK_FACTOR_ARG &&
	       factor[1].kind == HK_FACTOR_TYPE_SIZE &&
	       is_number(hook, factor[0].arg, &message->count) &&
	       word_of(hook, factor[1].arg, &message->type, &widening);
}

static bool plan_value(const struct hk_hook *hook, uint8_t at, struct hk_message *message)
{
	const struct hk_value *value = &hook->values[at];
	if (value->factor_count > 1) {
		return plan_bytes(hook, value, at, message);
	}
	switch (value->factors[0].kind) {
	case HK_FACTOR_COMM:
		return true;
	case HK_FACTOR_ARG:
	case HK_FACTOR_SENDER:
	case HK_FACTOR_STATUS_SENDER:
		return plan_number(hook, &value->factors[0], at, message);
	default:
		return false;
	}
}

/* Makes the plan. The communicator comes first, because the root is kept with it. */
static bool plan(const struct hk_hook *hook, struct hk_message *message)
{
	uint32_t comms = 0;
	for (uint8_t v = 0; v < hook->value_count; v++) {
		const struct hk_value *value = &hook->values[v];
		if (value->factor_count == 1 && value->factors[0].kind == HK_FACTOR_COMM) {
			comms += plan_comm(hook, &value->factors[0], v, message);
		}
	}
	for (uint8_t v = 0; v < hook->value_count; v++) {
		if (!plan_value(hook, v, message)) {
			return false;
		}
	}
	if (message->bytes == HK_MESSAGE_NONE) {
		message->bytes_at = message->comm_at;
	}
	for (uint32_t i = message->number_count; i < 2; i++) {
		message->numbers[i].at = message->comm_at;
	}
	return comms == 1 && message->has_sender <= 1;
}

const struct hk_message *hk_message_plan(const struct hk_hook *hook)
{
	struct hk_message message = {0};
	message.is_launch = hk_launch_plan(hook, &message.launch);
	if (hook->error != HK_ERROR_NONZERO || (hook->flags & HK_HOOK_FORTRAN) ||
	    (!message.is_launch && !plan(hook, &message))) {
		return NULL;
	}
	struct hk_message *kept = hk_arena_take(sizeof(*kept));
	if (kept) {
		*kept = message;
	}
	return kept;
}
