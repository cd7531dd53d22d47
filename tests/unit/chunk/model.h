/* model.h: calls made up by a seeded generator, as raw words for the code under test and as plain
 * structs to compare with. */
#ifndef HK_TESTS_UNIT_CHUNK_MODEL_H
#define HK_TESTS_UNIT_CHUNK_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chunk/codec/writer.h"

#define MODEL_TICKS_PER_NS 2.25
#define MODEL_WORDS 16

struct model_call {
	uint64_t start, duration, thread;
	uint32_t tid, site;
	uint8_t kind, word_count, reserved[6]; /* no padding: compared as bytes */
	uint64_t words[MODEL_WORDS];
};

struct model {
	struct model_call *calls;
	size_t count, capacity;
};

/* Words of one page chain that were not yet given to a writer. */
struct model_chain {
	uint64_t *words;
	size_t count, capacity, next;
	uint64_t now; /* ticks */
	uint64_t thread;
	uint32_t tid;
	struct hk_chunk_position position;
};

static uint64_t model_state = 88172645463325252ull;

static inline uint64_t model_random(void)
{
	model_state ^= model_state << 13;
	model_state ^= model_state >> 7;
	model_state ^= model_state << 17;
	return model_state * 0x2545f4914f6cdd1dull;
}

/* 0..below-1 */
static inline uint64_t model_below(uint64_t below)
{
	return (model_random() >> 11) % below;
}

static inline void model_push(struct model_chain *chain, uint64_t word)
{
	if (chain->count == chain->capacity) {
		chain->capacity = chain->capacity ? chain->capacity * 2 : 256;
		chain->words = realloc(chain->words, chain->capacity * sizeof(*chain->words));
		assert_non_null(chain->words);
	}
	chain->words[chain->count++] = word;
}

/* Writes the raw form as the segment format says, escape included. */
static inline void model_raw(struct model_chain *chain, const struct model_call *call)
{
	bool escape = call->duration >= 0xffffffffu || model_below(50) == 0;
	uint64_t duration = escape ? 0xffffffffu : call->duration;

	model_push(chain, call->start);
	model_push(chain, duration | (uint64_t)call->site << 32 | (uint64_t)call->kind << 52 |
			      (uint64_t)(call->word_count + escape) << 56);
	if (escape) {
		model_push(chain, call->duration);
	}
	for (unsigned i = 0; i < call->word_count; i++) {
		model_push(chain, call->words[i]);
	}
}

/* From here on the chain belongs to another thread. */
static inline void model_switch(struct model_chain *chain, uint64_t thread, uint32_t tid)
{
	chain->thread = thread;
	chain->tid = tid;
	model_push(chain, chain->now);
	model_push(chain, 3ull << 52 | 2ull << 56);
	model_push(chain, thread);
	model_push(chain, tid);
}

static inline uint64_t model_word(unsigned sort)
{
	switch (sort) {
	case 0:
		return model_below(8);
	case 1:
		return 0x7f0000000000ull + model_below(1 << 20) * 16;
	case 2:
		return 1ull << model_below(64);
	default:
		return model_random();
	}
}

/* One call with what it calls; time passes in the chain. */
static inline void model_make_call(struct model *model, struct model_chain *chain, unsigned depth)
{
	struct model_call call = {.start = chain->now, .thread = chain->thread, .tid = chain->tid};

	chain->now += model_below(4) ? model_below(3000) : 0;
	for (uint64_t inner = depth < 5 ? model_below(3) : 0; inner; inner--) {
		model_make_call(model, chain, depth + 1);
	}
	chain->now += model_below(3) ? model_below(2000) : 0;
	if (model_below(40) == 0) {
		chain->now += model_random() >> (23 + model_below(41));
	}
	call.duration = (uint64_t)((double)(chain->now - call.start) / MODEL_TICKS_PER_NS);
	call.site = model_below(30) ? (uint32_t)model_below(12) : (uint32_t)model_below(1 << 20);
	call.kind = model_below(20) ? 1 : model_below(10) ? 2 : (uint8_t)(4 + model_below(12));
	call.word_count = (uint8_t)(model_below(4) ? call.site % 4 : model_below(MODEL_WORDS));
	for (unsigned i = 0; i < call.word_count; i++) {
		call.words[i] = model_word((call.site + i) % 4);
	}
	if (call.kind == HK_CHUNK_KIND_CALL_STACK || call.kind == HK_CHUNK_KIND_FAILED_STACK) {
		call.word_count += call.word_count == 0;
		call.words[call.word_count - 1] = 1 + model_below(1u << 18);
	}
	if (model->count == model->capacity) {
		model->capacity = model->capacity ? model->capacity * 2 : 256;
		model->calls = realloc(model->calls, model->capacity * sizeof(*model->calls));
		assert_non_null(model->calls);
	}
	model->calls[model->count++] = call;
	model_raw(chain, &call);
}

static inline void model_chain_begin(struct model_chain *chain, uint32_t slot, uint64_t now)
{
	*chain = (struct model_chain){
	    .now = now,
	    .thread = slot + 1,
	    .tid = 1000 + slot,
	    .position = {.slot = slot, .stream = slot % 3, .thread = slot + 1, .tid = 1000 + slot},
	};
}

static inline void model_chain_end(struct model_chain *chain)
{
	free(chain->words);
}

/* Orders by start, longer first, then by everything else: the same set of calls sorts to the same
 * array. */
static inline int model_compare(const void *a, const void *b)
{
	const struct model_call *x = a, *y = b;

	if (x->start != y->start) {
		return x->start < y->start ? -1 : 1;
	}
	if (x->duration != y->duration) {
		return x->duration > y->duration ? -1 : 1;
	}
	return memcmp(x, y, sizeof(*x));
}

static inline void model_sort(struct model *model)
{
	if (model->count) {
		qsort(model->calls, model->count, sizeof(*model->calls), model_compare);
	}
}

/* A record as the generator would have made it. */
static inline struct model_call model_of(const struct hk_record *record)
{
	struct model_call call;

	memset(&call, 0, sizeof(call));
	assert_true(record->word_count <= MODEL_WORDS);
	call.start = record->start_ticks;
	call.duration = record->duration_ns;
	call.thread = record->thread->uid;
	call.tid = record->thread->tid;
	call.site = record->site;
	call.kind = record->kind;
	call.word_count = record->word_count;
	memcpy(call.words, record->words, record->word_count * sizeof(*record->words));
	if (record->stack) {
		assert_true(record->kind == HK_CHUNK_KIND_CALL ||
			    record->kind == HK_CHUNK_KIND_FAILED);
		call.kind = record->kind == HK_CHUNK_KIND_CALL ? HK_CHUNK_KIND_CALL_STACK
							       : HK_CHUNK_KIND_FAILED_STACK;
		call.words[call.word_count++] = record->stack;
	}
	return call;
}

#endif
