#include "agent/runtime/values.h"

#include "agent/frame/state.h"
#include "agent/frame/word.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "agent/runtime/device.h"
#include "agent/runtime/gloo.h"
#include "agent/runtime/kernels.h"
#include "agent/runtime/mpi.h"
#include "agent/runtime/nccl.h"
#include "agent/runtime/operand.h"

/* Reads a field of a struct in the host's memory. */
static uint64_t field(const struct hk_call *call, const struct hk_factor *factor)
{
	const char *base = (const char *)hk_operand_memory(call, factor->arg);
	bool wide = factor->kind == HK_FACTOR_WORD;
	uint64_t word;
	int32_t number;
	if (!base || hk_operand_failed(call) ||
	    !hk_operand_is_readable(call, (uint64_t)base + factor->constant,
				    wide ? sizeof(word) : sizeof(number))) {
		return 0;
	}
	if (wide) {
		__builtin_memcpy(&word, base + factor->constant, sizeof(word));
		return word;
	}
	__builtin_memcpy(&number, base + factor->constant, sizeof(number));
	return (uint64_t)(int64_t)number;
}

static uint64_t pointee(const struct hk_call *call, uint8_t argument)
{
	const uint64_t *out = (const uint64_t *)hk_operand_register(call, argument);
	/* posix_memalign does not write its argument if it fails. */
	bool readable =
	    !hk_operand_failed(call) && hk_operand_is_readable(call, (uint64_t)out, sizeof(*out));
	return readable ? *out : 0;
}

#define SUMMED_MOST ((uint64_t)1 << 20) /* of an array: a greater count is garbage */

/* Sums COUNT items of an array in the host's memory: words, or products of the three words that lie
 * OFFSET bytes into structs of STRIDE bytes. */
static uint64_t sum_of(const struct hk_call *call, uint64_t base, uint64_t count, uint32_t stride,
		       uint32_t offset, uint32_t words)
{
	uint64_t sum = 0, parts[3];
	bool sound = count && count <= SUMMED_MOST && !hk_operand_failed(call) &&
		     hk_operand_is_readable(call, base, (count - 1) * stride + offset + words * 8);
	for (uint64_t i = 0; sound && i < count; i++) {
		__builtin_memcpy(parts, (const char *)base + i * stride + offset, words * 8);
		sum += words == 1 ? parts[0] : parts[0] * parts[1] * parts[2];
	}
	return sum;
}

static uint64_t array_of(struct hk_call *call, const struct hk_factor *factor)
{
	uint64_t base = hk_operand_register(call, factor->arg);
	if (factor->kind == HK_FACTOR_NCCL_SUM) {
		return sum_of(call, base, hk_nccl_factor(call, factor), 8, 0, 1);
	}
	uint64_t count = hk_operand_argument(call, factor->arg2);
	if (factor->kind == HK_FACTOR_SUM_WORDS) {
		return sum_of(call, base, count, 8, 0, 1);
	}
	return sum_of(call, base, count, factor->constant & UINT16_MAX, factor->constant >> 16, 3);
}

static uint64_t dim3(const struct hk_call *call, const struct hk_factor *factor)
{
	uint64_t first = hk_operand_register(call, factor->arg);
	const uint32_t *sizes = (const uint32_t *)(first + factor->constant);

	switch (factor->kind) {
	case HK_FACTOR_DIM3_WORDS:
		return hk_dim3_pack(first, first >> 32, hk_operand_second(call, factor->arg));
	case HK_FACTOR_DIM3:
		return hk_dim3_pack(first, hk_operand_register(call, factor->arg2),
				    hk_operand_register(call, factor->arg3));
	default:
		return first && hk_operand_is_readable(call, (uint64_t)sizes, 3 * sizeof(*sizes))
			   ? hk_dim3_pack(sizes[0], sizes[1], sizes[2])
			   : 0;
	}
}

/* Evaluates a factor that needs no call of the host's libraries, or whose answer is kept. Returns
 * false for others. */
static bool factor_known(const struct hk_call *call, const struct hk_factor *factor,
			 uint64_t *ret_value)
{
	switch (factor->kind) {
	case HK_FACTOR_ARG:
		*ret_value = hk_operand_argument(call, factor->arg);
		return true;
	case HK_FACTOR_CONST:
		*ret_value = factor->constant;
		return true;
	case HK_FACTOR_RESULT:
		*ret_value = hk_word_widen(call->result, call->site->hook->result);
		return true;
	case HK_FACTOR_POINTEE:
		*ret_value = pointee(call, factor->arg);
		return true;
	case HK_FACTOR_WORD:
	case HK_FACTOR_INT:
		*ret_value = field(call, factor);
		return true;
	case HK_FACTOR_SUM_WORDS:
	case HK_FACTOR_EXTENTS:
		*ret_value = array_of((struct hk_call *)(uintptr_t)call, factor);
		return true;
	case HK_FACTOR_TYPE_SIZE:
	case HK_FACTOR_SENT:
	case HK_FACTOR_COMM:
	case HK_FACTOR_SENDER:
	case HK_FACTOR_STATUS_SENDER:
	case HK_FACTOR_IS_ROOT:
		return hk_mpi_known(call, factor, hk_operand_argument(call, factor->arg),
				    ret_value);
	case HK_FACTOR_DIM3_WORDS:
	case HK_FACTOR_DIM3:
	case HK_FACTOR_DIM3_AT:
		*ret_value = dim3(call, factor);
		return true;
	case HK_FACTOR_KERNEL:
	case HK_FACTOR_KERNEL_DRIVER:
	case HK_FACTOR_KERNEL_NAMED:
	case HK_FACTOR_KERNEL_ALIAS:
	case HK_FACTOR_KERNEL_GOT:
	case HK_FACTOR_KERNEL_GONE:
		return hk_kernels_known(call, factor, ret_value);
	case HK_FACTOR_CONTEXT:
	case HK_FACTOR_NEW_CONTEXT:
		*ret_value = hk_gloo_factor(call, factor);
		return true;
	case HK_FACTOR_NCCL_SIZE:
	case HK_FACTOR_NCCL_COMM:
		*ret_value = hk_nccl_factor(call, factor);
		return true;
	default:
		return false;
	}
}

static uint64_t factor_asked(struct hk_call *call, const struct hk_factor *factor)
{
	switch (factor->kind) {
	case HK_FACTOR_DEVICE:
	case HK_FACTOR_STREAM_DEVICE:
		return hk_device_factor(call, factor);
	case HK_FACTOR_NCCL_SUM:
		return array_of(call, factor);
	case HK_FACTOR_KERNEL:
	case HK_FACTOR_KERNEL_DRIVER:
	case HK_FACTOR_KERNEL_NAMED:
	case HK_FACTOR_KERNEL_ALIAS:
	case HK_FACTOR_KERNEL_GOT:
	case HK_FACTOR_KERNEL_GONE:
		return hk_kernels_factor(call, factor);
	case HK_FACTOR_NCCL_RANKS:
	case HK_FACTOR_NCCL_IS_ROOT:
	case HK_FACTOR_NCCL_NEW_COMM:
	case HK_FACTOR_NCCL_NEW_COMMS:
	case HK_FACTOR_NCCL_SPLIT:
	case HK_FACTOR_NCCL_NEW_RANK:
		return hk_nccl_factor(call, factor);
	default:
		return hk_mpi_factor(call, factor);
	}
}

/* Evaluates a product. Returns false if it needs a call of a library and MAY_ASK is false. */
static inline bool product_of(struct hk_call *call, const struct hk_value *value, bool may_ask,
			      uint64_t *ret_product)
{
	uint64_t product = 1;
	for (uint32_t f = 0; f < value->factor_count && product; f++) {
		const struct hk_factor *factor = &value->factors[f];
		uint64_t one;
		if (!factor_known(call, factor, &one)) {
			if (!may_ask) {
				return false;
			}
			one = factor_asked(call, factor);
		}
		product *= one;
	}
	*ret_product = product;
	return true;
}

static bool is_device_memory(const struct hk_hook *hook)
{
	return hk_hook_memory(hook->flags) != HK_MEMORY_HOST;
}

static bool evaluate(struct hk_call *call, bool may_ask, uint64_t values[HK_HOOK_VALUES])
{
	const struct hk_site_hot *site = call->site;
	const struct hk_hook *hook = site->hook;
	for (uint32_t i = 0; i < site->payload; i++) {
		if (site->word[i] != HK_WORD_NONE) {
			values[i] = hk_word_read(call, site->word[i]);
		} else if (!product_of(call, &hook->values[i], may_ask, &values[i])) {
			return false;
		}
	}
	/* A runtime calls the driver, and only one of them counts. */
	if (!is_device_memory(hook) || !hk_operand_is_within(call, is_device_memory)) {
		return true;
	}
	for (uint32_t i = 0; i < hook->value_count; i++) {
		uint8_t key = hook->values[i].key;
		values[i] = key == HK_KEY_POINTER || key == HK_KEY_SIZE ? 0 : values[i];
	}
	return true;
}

bool hk_values_known(struct hk_call *call, uint64_t values[HK_HOOK_VALUES])
{
	return evaluate(call, false, values);
}

/* Evaluates values by calls of the host's libraries, whose own hooked calls pass through uncounted.
 */
static int ask(void *asked, void *values)
{
	struct hk_call *call = asked;
	struct hk_thread *thread = call->thread;
	uint32_t inside = hk_in_agent;
	thread->asking = (uint64_t)&call->caller_frame;
	hk_in_agent = 2;
	uint64_t inner = thread->inner;
	int32_t countdown = thread->countdown;
	thread->ready = 0;
	thread->countdown = 0;
	thread->inner = 0;
	evaluate(call, true, values);
	if (!hk_process_forked()) {
		thread->inner = inner;
		thread->countdown = countdown;
		thread->ready = 1;
	}
	hk_in_agent = inside;
	thread->asking = 0;
	return 0;
}

/* Returns whether the result may be in a vector or x87 register. A call leaves only its result to
 * its caller in such registers. */
static bool may_return_vector(const struct hk_hook *hook)
{
	return !(hook->flags & HK_HOOK_TRUSTED) || hook->result == HK_TYPE_FLOAT ||
	       hook->result == HK_TYPE_DOUBLE;
}

void hk_values_read(struct hk_call *call, uint64_t values[HK_HOOK_VALUES])
{
	if (evaluate(call, false, values)) {
		return;
	}
	if (may_return_vector(call->site->hook)) {
		hk_state_saved(ask, call, values);
	} else {
		ask(call, values);
	}
}
