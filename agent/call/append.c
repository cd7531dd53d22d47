#include "agent/call/append.h"

#include "agent/frame/hot.h"
#include "agent/frame/state.h"
#include "agent/record/process.h"
#include "ring/chain.h"

static void add_shared(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static int extend_chain(void *thread, void *stream)
{
	return hk_thread_extend(thread, (uint32_t)(uintptr_t)stream);
}

static inline void write_words(uint64_t *room, const struct hk_call *call, uint64_t ns,
			       enum hk_record_kind kind, const uint64_t *values, uint32_t count)
{
	bool escape = ns >= HK_DURATION_ESCAPE;
	room[0] = call->start_ticks;
	room[1] = hk_record_word1(escape ? HK_DURATION_ESCAPE : (uint32_t)ns,
				  hk_hot_number(call->site), kind, count + escape);
	room += HK_RECORD_HEADER_WORDS;
	if (escape) {
		*room++ = ns;
	}
	for (uint32_t i = 0; i < count; i++) {
		room[i] = values[i];
	}
}

/* This call owns STREAM's end until BUSY is cleared. Signal handlers use the nested chain
 * meanwhile. */
static void write_record(struct hk_thread *thread, uint32_t stream, volatile uint32_t *busy,
			 const struct hk_call *call, uint64_t ns, enum hk_record_kind kind,
			 const uint64_t *values, uint32_t count)
{
	struct hk_chain_end *chain = &thread->chain[stream];
	uint32_t words = HK_RECORD_HEADER_WORDS + count + (ns >= HK_DURATION_ESCAPE);
	*busy = call->depth + 1;
	atomic_signal_fence(memory_order_seq_cst);
	uint64_t *room = hk_chain_room(chain, words);
	if (!room && hk_state_may_save() &&
	    hk_state_saved(extend_chain, thread, (void *)(uintptr_t)stream)) {
		room = chain->cursor;
	}
	if (room) {
		write_words(room, call, ns, kind, values, count);
		hk_chain_publish(chain, room + words);
	} else if (!hk_process_forked()) { /* otherwise the segment belongs to the parent */
		add_shared(&thread->slot->chain[stream].lost);
	}
	atomic_signal_fence(memory_order_seq_cst);
	*busy = 0;
}

void hk_append_record(struct hk_thread *thread, const struct hk_call *call, uint64_t ns,
		      enum hk_record_kind kind, const uint64_t *values, uint32_t count)
{
	if (!thread->busy) {
		write_record(thread, call->site->stream, &thread->busy, call, ns, kind, values,
			     count);
	} else if (!thread->nested_busy) {
		write_record(thread, HK_STREAM_NESTED, &thread->nested_busy, call, ns, kind, values,
			     count);
	} else {
		add_shared(&thread->slot->chain[HK_STREAM_NESTED].lost);
	}
}
