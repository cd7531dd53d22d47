/* Requests for the stacks of threads. */
#include <errno.h>

#include "ring/reader_map.h"

static struct hk_ask *ask_of(const struct hk_reader *reader, uint32_t number)
{
	return (struct hk_ask *)(void *)(reader->map + HK_ASK_OFFSET) + number % HK_ASKS;
}

int hk_reader_ask(struct hk_reader *reader, uint32_t number, uint32_t tid)
{
	struct hk_ask *ask = ask_of(reader, number);
	uint64_t state = atomic_load_explicit(&ask->state, memory_order_acquire);

	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	/* A thread that stopped in the midst of its answer still writes. */
	bool free = (uint32_t)state != HK_ASK_WRITING;
	uint64_t asked = (uint64_t)tid << 32 | HK_ASK_ASKED;
	free = free && atomic_compare_exchange_strong(&ask->state, &state, asked);
	return hk_map_failed(reader) ? -ESTALE : free ? 0 : -EBUSY;
}

int hk_reader_answer(struct hk_reader *reader, uint32_t number, uint32_t tid,
		     struct hk_ask_copy *ret_answer)
{
	struct hk_ask *ask = ask_of(reader, number);
	uint64_t answered = (uint64_t)tid << 32 | HK_ASK_ANSWERED;

	/* Pairs with the thread's release. */
	if (atomic_load_explicit(&ask->state, memory_order_acquire) != answered) {
		return hk_map_failed(reader) ? -ESTALE : 0;
	}
	uint32_t count = hk_map_u32(&ask->count);
	ret_answer->count = count < HK_ASK_FRAMES ? count : HK_ASK_FRAMES;
	ret_answer->end = hk_map_u32(&ask->end);
	ret_answer->ticks = hk_map_u64(&ask->ticks);
	hk_map_copy(ret_answer->address, ask->address, sizeof(ret_answer->address));
	return hk_map_failed(reader) ? -ESTALE : 1;
}

bool hk_reader_unask(struct hk_reader *reader, uint32_t number)
{
	struct hk_ask *ask = ask_of(reader, number);
	uint64_t state = atomic_load_explicit(&ask->state, memory_order_acquire);

	return !hk_map_failed(reader) && (uint32_t)state != HK_ASK_WRITING &&
	       atomic_compare_exchange_strong(&ask->state, &state, HK_ASK_FREE);
}
