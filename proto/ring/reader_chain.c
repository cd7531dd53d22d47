/* Chains of record pages: following them, cutting them into runs, giving pages back.
 *
 * Every step to a page checks it: a PAGE block, of this slot and stream, in use, its position where
 * the page before ended. Positions only grow, and a walk takes at most as many steps as there are
 * blocks, so a cycle ends.
 */
#include <errno.h>
#include <string.h>

#include "ring/reader_map.h"

#define CHUNKS_MAX (UINT64_C(1) << 48) /* more than any process writes */

/* The chain is invalid: it is not read any further. */
static int abandon(struct hk_reader *reader, struct hk_reader_chain *chain)
{
	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	chain->broken = true;
	reader->damage++;
	return -EBADMSG;
}

static void enter_page(struct hk_reader_chain *chain, uint32_t number,
		       const struct hk_page_view *view)
{
	chain->page = number;
	chain->page_base = view->position;
	chain->at = view->position;
	chain->thread = view->thread;
	chain->tid = view->tid;
}

/* Finds the chain's first page. 1; 0: none yet; -EBADMSG. */
static int start_chain(struct hk_reader *reader, struct hk_reader_chain *chain, uint32_t slot,
		       uint32_t stream)
{
	const struct hk_thread_slot *shared = hk_reader_slot_shared(reader, slot);
	struct hk_page_view view;

	if (!shared) {
		return 0;
	}
	/* Pairs with the agent's release: the page is labelled. */
	uint64_t word =
	    atomic_load_explicit(&shared->chain[stream].first_and_released, memory_order_acquire);
	uint64_t released = hk_map_u64(&shared->chain[stream].released);
	uint32_t first = (uint32_t)word;
	if (first == 0 || (first >= reader->block_count && first < reader->blocks_max)) {
		return 0;
	}
	if (hk_page_find(reader, slot, stream, first, &view) < 0) {
		return abandon(reader, chain);
	}
	if (!chain->sought || chain->position < view.position) {
		chain->position = view.position;
	}
	chain->oldest = first;
	chain->tail = first;
	chain->tail_base = view.position;
	chain->tail_end = view.position + view.written;
	chain->pages = 1;
	chain->released = released + (uint32_t)((uint32_t)(word >> 32) - (uint32_t)released);
	chain->records = chain->released;
	enter_page(chain, first, &view);
	chain->started = true;
	return 1;
}

/* Chain (SLOT, STREAM), or NULL if it has no readable data. */
static struct hk_reader_chain *get_chain(struct hk_reader *reader, uint32_t slot, uint32_t stream,
					 int *ret_error)
{
	*ret_error = 0;
	struct hk_reader_slot *state =
	    stream < HK_STREAMS ? hk_reader_slot_state(reader, slot) : NULL;
	struct hk_reader_chain *chain = state ? &state->chain[stream] : NULL;
	if (!chain || chain->broken) {
		return NULL;
	}
	if (!chain->started) {
		int started = start_chain(reader, chain, slot, stream);
		if (started <= 0) {
			*ret_error = started;
			return NULL;
		}
	}
	return chain;
}

/* Follows the chain to its newest page and counts committed bytes and pages. Stops before an
 * invalid page: the reader reports it after it has delivered all good records before it. */
static void follow_tail(struct hk_reader *reader, struct hk_reader_chain *chain, uint32_t slot,
			uint32_t stream)
{
	struct hk_page_view view;
	struct hk_page_view next;

	if (hk_page_find(reader, slot, stream, chain->tail, &view) < 0 ||
	    view.position != chain->tail_base) {
		return;
	}
	for (uint32_t steps = 0; view.state == HK_PAGE_FULL && steps < reader->block_count &&
				 hk_page_follow(reader, slot, stream, &view, &next) == 0;
	     steps++) {
		chain->tail = view.next;
		chain->tail_base = next.position;
		chain->pages++;
		view = next;
	}
	chain->tail_end = view.position + view.written;
}

uint64_t hk_reader_chain_pending(struct hk_reader *reader, uint32_t slot, uint32_t stream)
{
	int error;
	struct hk_reader_chain *chain = get_chain(reader, slot, stream, &error);

	if (!chain) {
		return 0;
	}
	follow_tail(reader, chain, slot, stream);
	return chain->tail_end > chain->position ? chain->tail_end - chain->position : 0;
}

void hk_reader_seek(struct hk_reader *reader, uint32_t slot, uint32_t stream, uint64_t position)
{
	struct hk_reader_slot *state =
	    stream < HK_STREAMS ? hk_reader_slot_state(reader, slot) : NULL;

	struct hk_reader_chain *chain = state ? &state->chain[stream] : NULL;
	if (!chain || chain->broken) {
		return;
	}
	if (position > HK_PAGE_POSITION_MAX || position % sizeof(uint64_t) != 0) {
		abandon(reader, chain);
	} else if (!chain->started) {
		chain->sought = true;
		chain->position = position;
	} else if (chain->page == chain->oldest && chain->at == chain->page_base &&
		   position > chain->page_base) {
		/* The page was checked already, but not parsed yet. */
		chain->position = position;
	}
}

void hk_reader_note(struct hk_reader *reader, uint64_t number)
{
	struct hk_segment_header *header = (void *)reader->map;

	for (uint32_t slot = 0; slot < reader->slot_room && !hk_map_failed(reader); slot++) {
		struct hk_thread_slot *shared = hk_reader_slot_shared(reader, slot);
		for (uint32_t stream = 0; shared && stream < HK_STREAMS; stream++) {
			const struct hk_reader_chain *chain = &reader->slots[slot].chain[stream];
			if (chain->started && !chain->broken) {
				__atomic_store_n(&shared->taken[stream], chain->position,
						 __ATOMIC_RELAXED);
			}
		}
	}
	if (!hk_map_failed(reader)) {
		__atomic_store_n(&header->chunks, number, __ATOMIC_RELAXED);
	}
}

uint64_t hk_reader_noted(const struct hk_reader *reader)
{
	const struct hk_segment_header *header = (const void *)reader->map;
	uint64_t number = hk_map_u64(&header->chunks);

	return number <= CHUNKS_MAX ? number : 0;
}

void hk_reader_resume(struct hk_reader *reader)
{
	const struct hk_thread_slot *shared;

	for (uint32_t slot = 0; (shared = hk_reader_slot_shared(reader, slot)) != NULL; slot++) {
		for (uint32_t stream = 0; stream < HK_STREAMS; stream++) {
			hk_reader_seek(reader, slot, stream, hk_map_u64(&shared->taken[stream]));
			hk_reader_chain_pending(reader, slot, stream);
		}
	}
}

/* Words of the record at WORDS, of at most LIMIT words; 0 if it is invalid. */
static size_t measure_record(const uint64_t *words, size_t limit)
{
	if (limit < HK_RECORD_HEADER_WORDS) {
		return 0;
	}
	uint32_t kind = (words[1] >> HK_RECORD_KIND_SHIFT) & 0xf;
	size_t payload = words[1] >> HK_RECORD_WORDS_SHIFT;
	size_t least = 0;
	if (kind == HK_RECORD_THREAD) {
		least = 2;
	} else if ((uint32_t)words[1] == HK_DURATION_ESCAPE) {
		least = 1;
	}
	if (kind == 0 || payload < least || payload > HK_RECORD_WORDS_MAX ||
	    payload > limit - HK_RECORD_HEADER_WORDS) {
		return 0;
	}
	return HK_RECORD_HEADER_WORDS + payload;
}

static bool is_switch(const uint64_t *words)
{
	return ((words[1] >> HK_RECORD_KIND_SHIFT) & 0xf) == HK_RECORD_THREAD;
}

/* Words of the good records at WORDS up to LIMIT or the first thread switch; adds their number to
 * *RECORDS. Most records have the kind and size of the one before: after several in a row, many are
 * compared at once. */
static size_t measure_run(const uint64_t *words, size_t limit, uint64_t *records)
{
	size_t at = 0;
	size_t count;

	while ((count = measure_record(words + at, limit - at)) > 0 && !is_switch(words + at)) {
		const uint64_t like = words[at + 1] >> HK_RECORD_KIND_SHIFT;
		const size_t step = HK_ALIKE_STEP * count, single_end = at + step;
		do {
			at += count;
			++*records;
		} while (at < single_end && count <= limit - at &&
			 words[at + 1] >> HK_RECORD_KIND_SHIFT == like &&
			 (uint32_t)words[at + 1] != HK_DURATION_ESCAPE);
		while (at >= single_end && step <= limit - at &&
		       hk_records_alike(words + at, count, like)) {
			at += step;
			*records += HK_ALIKE_STEP;
		}
	}
	return at;
}

/* Parses from chain->at to END (a position in the current page). Records before chain->position
 * were delivered to an earlier reader and are parsed for thread switches only. Returns 1 and a run,
 * or 0 if nothing is left before END. */
static int take_run(struct hk_reader *reader, struct hk_reader_chain *chain, uint64_t end,
		    struct hk_run *run)
{
	const struct hk_page *page = hk_map_page(reader, chain->page);

	/* Committed records never change, so an ordinary copy will do. */
	const uint64_t start = chain->at;
	memcpy(reader->page_copy, (const char *)page->body + (start - chain->page_base),
	       end - start);
	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	while (chain->at < end) {
		bool old = chain->at < chain->position;
		uint64_t until = old && chain->position < end ? chain->position : end;
		const uint64_t *words = reader->page_copy + (chain->at - start) / sizeof(uint64_t);
		size_t limit = (until - chain->at) / sizeof(uint64_t);
		size_t count = measure_run(words, limit, &chain->records);
		chain->at += count * sizeof(uint64_t);
		if (count == 0) {
			/* The records before were delivered; this one is a thread switch or
			 * invalid. */
			size_t taken = measure_record(words, limit);
			if (taken == 0) {
				return -EBADMSG;
			}
			chain->thread = words[HK_RECORD_HEADER_WORDS];
			chain->tid = (uint32_t)words[HK_RECORD_HEADER_WORDS + 1];
			chain->at += taken * sizeof(uint64_t);
		}
		if (!old) {
			chain->position = chain->at;
		}
		if (count > 0 && !old) {
			run->thread = chain->thread;
			run->tid = chain->tid;
			run->words = words;
			run->word_count = count;
			run->end_position = chain->position;
			return 1;
		}
	}
	return 0;
}

/* Parses records that an earlier reader has delivered, as far as they are still there. */
static void pass_over(struct hk_reader *reader, struct hk_reader_chain *chain, uint32_t slot,
		      uint32_t stream)
{
	struct hk_page_view view, next;
	struct hk_run none;

	for (uint32_t steps = 0; chain->at < chain->position && steps <= reader->block_count;
	     steps++) {
		if (hk_page_find(reader, slot, stream, chain->page, &view) < 0 ||
		    view.position != chain->page_base) {
			return;
		}
		uint64_t end = view.position + view.written;
		end = end < chain->position ? end : chain->position;
		if (chain->at < end && take_run(reader, chain, end, &none) != 0) {
			return;
		}
		if (chain->at >= chain->position || view.state != HK_PAGE_FULL ||
		    chain->page == chain->tail ||
		    hk_page_follow(reader, slot, stream, &view, &next) < 0) {
			return;
		}
		enter_page(chain, view.next, &next);
	}
}

/* Next run of CHAIN into RUN: 1, 0, -EBADMSG, -EAGAIN (its next page is newer than the last
 * refresh). */
static int advance(struct hk_reader *reader, struct hk_reader_chain *chain, struct hk_run *run)
{
	for (uint32_t steps = 0; steps <= reader->block_count; steps++) {
		struct hk_page_view view;
		struct hk_page_view next;

		if (hk_page_find(reader, run->slot, run->stream, chain->page, &view) < 0 ||
		    view.position != chain->page_base || view.position + view.written < chain->at) {
			return -EBADMSG;
		}
		uint64_t end = view.position + view.written;
		if (chain->at < end) {
			int status = take_run(reader, chain, end, run);
			if (status != 0) {
				return status;
			}
		}
		if (view.state != HK_PAGE_FULL) {
			return 0;
		}
		int error = hk_page_follow(reader, run->slot, run->stream, &view, &next);
		if (error < 0) {
			return error;
		}
		if (chain->page == chain->tail) {
			/* The tail never lags behind: release relies on it. */
			chain->tail = view.next;
			chain->tail_base = next.position;
			chain->tail_end = next.position + next.written;
			chain->pages++;
		}
		enter_page(chain, view.next, &next);
	}
	return -EBADMSG;
}

int hk_reader_next_run(struct hk_reader *reader, uint32_t slot, uint32_t stream,
		       struct hk_run *ret_run)
{
	struct hk_run run = {.slot = slot, .stream = stream};
	int status;

	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	struct hk_reader_chain *chain = get_chain(reader, slot, stream, &status);
	if (chain) {
		status = advance(reader, chain, &run);
	}
	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	if (!chain) {
		return status;
	}
	if (status == 1) {
		*ret_run = run;
		return 1;
	}
	return status == -EBADMSG ? abandon(reader, chain) : status == -EAGAIN ? 0 : status;
}

void hk_reader_put_back(struct hk_reader *reader, const struct hk_run *run, size_t words)
{
	struct hk_reader_chain *chain = &reader->slots[run->slot].chain[run->stream];
	uint64_t records = 0;

	measure_run(run->words + (run->word_count - words), words, &records);
	chain->at -= words * sizeof(uint64_t);
	chain->position = chain->at;
	chain->records -= records;
}

uint64_t hk_reader_records(struct hk_reader *reader)
{
	uint64_t records = 0;

	for (uint32_t slot = 0; slot < reader->slot_room && !hk_map_failed(reader); slot++) {
		for (uint32_t stream = 0; stream < HK_STREAMS; stream++) {
			struct hk_reader_chain *chain = &reader->slots[slot].chain[stream];
			if (chain->started && !chain->broken) {
				pass_over(reader, chain, slot, stream);
			}
			records += chain->records;
		}
	}
	return records;
}

/* ---- giving back ---- */

/* Records in page NUMBER, which is full. */
static uint64_t count_records(struct hk_reader *reader, uint32_t number,
			      const struct hk_page_view *view)
{
	const struct hk_page *page = hk_map_page(reader, number);
	const size_t limit = view->written / sizeof(uint64_t);
	size_t at = 0, taken = 0;
	uint64_t records = 0;

	memcpy(reader->page_copy, page->body, view->written);
	do {
		at += taken +
		      measure_run(reader->page_copy + at + taken, limit - at - taken, &records);
		taken = measure_record(reader->page_copy + at, limit - at);
	} while (taken > 0);
	return records;
}

static void move_first(struct hk_chain *chain, uint32_t next, uint64_t released)
{
	atomic_store_explicit(&chain->first_and_released, released << 32 | next,
			      memory_order_release);
	atomic_store_explicit(&chain->released, released, memory_order_relaxed);
}

/* The order matters if the collector is killed in between: the page leaves the chain first and
 * becomes free last. */
static void free_page(struct hk_page *page)
{
	atomic_store_explicit(&page->next, 0, memory_order_relaxed);
	atomic_store_explicit(&page->written, 0, memory_order_relaxed);
	/* Pairs with the agent's acquire when it looks for a free page. */
	atomic_store_explicit(&page->state, HK_PAGE_FREE, memory_order_release);
}

static void release_chain(struct hk_reader *reader, struct hk_reader_chain *chain, uint32_t slot,
			  uint32_t stream)
{
	struct hk_thread_slot *shared = hk_reader_slot_shared(reader, slot);

	follow_tail(reader, chain, slot, stream);
	while (shared && chain->oldest != chain->tail && chain->pages > 1) {
		struct hk_page_view view;
		struct hk_page_view next;
		if (hk_page_find(reader, slot, stream, chain->oldest, &view) < 0 ||
		    view.state != HK_PAGE_FULL ||
		    hk_page_follow(reader, slot, stream, &view, &next) < 0) {
			abandon(reader, chain);
			return;
		}
		if (view.position + view.written > chain->position) {
			break;
		}
		pass_over(reader, chain, slot, stream);
		if (chain->page == chain->oldest) {
			enter_page(chain, view.next, &next);
		}
		chain->released += count_records(reader, chain->oldest, &view);
		move_first(&shared->chain[stream], view.next, chain->released);
		free_page(hk_map_page(reader, chain->oldest));
		chain->oldest = view.next;
		chain->pages--;
	}
}

/* Pages that a killed collector took out of their chain and did not free. */
static void sweep_orphans(struct hk_reader *reader)
{
	for (uint32_t number = 1; number < reader->block_count; number++) {
		if (reader->blocks[number].kind != HK_BLOCK_PAGE) {
			continue;
		}
		struct hk_page *page = hk_map_page(reader, number);
		if (atomic_load_explicit(&page->state, memory_order_acquire) != HK_PAGE_FULL) {
			continue;
		}
		int error;
		struct hk_reader_chain *chain =
		    get_chain(reader, hk_map_u32(&page->slot), hk_map_u32(&page->stream), &error);
		struct hk_page_view oldest;
		if (chain &&
		    hk_page_find(reader, hk_map_u32(&page->slot), hk_map_u32(&page->stream),
				 chain->oldest, &oldest) == 0 &&
		    hk_map_u64(&page->position) < oldest.position) {
			free_page(page);
		}
	}
}

void hk_reader_release(struct hk_reader *reader)
{
	if (hk_map_failed(reader)) {
		return;
	}
	if (!reader->orphans_swept) {
		sweep_orphans(reader);
		reader->orphans_swept = true;
	}
	for (uint32_t slot = 0; slot < reader->slot_room; slot++) {
		for (uint32_t stream = 0; stream < HK_STREAMS; stream++) {
			struct hk_reader_chain *chain = &reader->slots[slot].chain[stream];
			if (chain->started && !chain->broken) {
				release_chain(reader, chain, slot, stream);
			}
		}
	}
}

void hk_reader_pool(struct hk_reader *reader, uint64_t *ret_used_bytes, uint64_t *ret_cap_bytes)
{
	/* As the writer divides: half of the blocks for calls, a quarter for memory records. */
	const uint64_t cap[2] = {reader->blocks_limit / 2, reader->blocks_limit / 4};
	uint64_t used[2] = {0};

	for (uint32_t slot = 0; slot < reader->slot_room; slot++) {
		for (uint32_t stream = 0; stream < HK_STREAMS; stream++) {
			const struct hk_reader_chain *chain = &reader->slots[slot].chain[stream];
			used[stream == HK_STREAM_MEMORY] += chain->broken ? 0 : chain->pages;
		}
	}
	uint32_t fuller = used[1] * cap[0] > used[0] * cap[1];
	*ret_used_bytes = used[fuller] * HK_BLOCK_BYTES;
	*ret_cap_bytes = (cap[fuller] ? cap[fuller] : 1) * HK_BLOCK_BYTES;
}
