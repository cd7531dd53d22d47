/* Requests for the stacks of threads. */
#include <errno.h>
#include <string.h>

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

/* Replaces invalid values of ANSWER by valid ones. */
static void check_python(struct hk_ask_copy *answer)
{
	struct hk_ask_python *python = &answer->python;
	char *text = python->text;

	text[0] = text[HK_ASK_TEXT_BYTES - 1] = '\0';
	for (size_t at = 0; at < HK_ASK_TEXT_BYTES; at += strlen(text + at) + 1) {
		hk_map_make_printable(text + at, HK_ASK_TEXT_BYTES - at);
	}
	for (uint32_t i = 0; i < answer->python_count; i++) {
		struct hk_ask_python_frame *frame = &python->frame[i];
		frame->file = frame->file < HK_ASK_TEXT_BYTES ? frame->file : 0;
		frame->name = frame->name < HK_ASK_TEXT_BYTES ? frame->name : 0;
	}
}

static void copy_python(struct hk_reader *reader, const struct hk_ask *ask,
			struct hk_ask_copy *answer)
{
	uint32_t count = hk_map_u32(&ask->python_count), block = hk_map_u32(&ask->python_block);
	const struct hk_segment_header *header = (const void *)reader->map;

	answer->python_missing = hk_map_u32(&ask->python_missing);
	answer->python_count = 0;
	if (block == 0 || block >= reader->blocks_max || block >= hk_map_u32(&header->blocks) ||
	    count == 0 || count > HK_ASK_PYTHON_FRAMES) {
		return;
	}
	const struct hk_block *head = (const void *)hk_map_block(reader, block);
	if (hk_map_u32(&head->kind) != HK_BLOCK_ASKS) {
		return;
	}
	answer->python_count = count;
	hk_map_copy(&answer->python, head + 1, sizeof(answer->python));
	check_python(answer);
}

/* Sets addresses of Python frames that do not exist to 0, as of unknown code. */
static void check_addresses(struct hk_ask_copy *answer)
{
	for (uint32_t i = 0; i < answer->count; i++) {
		uint64_t index = answer->address[i] - HK_ASK_PYTHON;
		if (index < HK_ASK_PYTHON_FRAMES && index >= answer->python_count) {
			answer->address[i] = 0;
		}
	}
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
	copy_python(reader, ask, ret_answer);
	check_addresses(ret_answer);
	return hk_map_failed(reader) ? -ESTALE : 1;
}

bool hk_reader_unask(struct hk_reader *reader, uint32_t number)
{
	struct hk_ask *ask = ask_of(reader, number);
	uint64_t state = atomic_load_explicit(&ask->state, memory_order_acquire);

	return !hk_map_failed(reader) && (uint32_t)state != HK_ASK_WRITING &&
	       atomic_compare_exchange_strong(&ask->state, &state, HK_ASK_FREE);
}
