/* chain.h: appending records to a thread's chains of pages, by the thread itself, without a lock.
 *
 * A record becomes visible when `written` moves past it, by one store. While a record is being
 * written `busy` is set; a signal handler that interrupts it and records too goes to the nested
 * chain, so nothing is torn and nothing is abandoned: whatever a handler does (siglongjmp
 * included), the next record overwrites what was not committed.
 */
#ifndef HK_RING_CHAIN_H
#define HK_RING_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "ring/segment.h"

/* A thread's private end of one chain. `cursor` + words must stay within `end`. */
struct hk_chain_end {
	uint64_t *cursor;
	uint64_t *end;
	struct hk_page *page; /* NULL: no page yet */
};

/* Room for WORDS words in the current page, or NULL. */
static inline uint64_t *hk_chain_room(const struct hk_chain_end *chain, uint32_t words)
{
	return (size_t)(chain->end - chain->cursor) >= words ? chain->cursor : NULL;
}

/* Publishes everything up to END. Pairs with the reader's acquire of `written`. */
static inline void hk_chain_publish(struct hk_chain_end *chain, uint64_t *end)
{
	chain->cursor = end;
	atomic_store_explicit(&chain->page->written,
			      (uint64_t)((char *)end - (char *)chain->page->body),
			      memory_order_release);
}

/* Position after the last record. */
static inline uint64_t hk_chain_position(const struct hk_chain_end *chain)
{
	return chain->page ? chain->page->position +
				 (uint64_t)((char *)chain->cursor - (char *)chain->page->body)
			   : 0;
}

/* Continues the chain in PAGE (block NUMBER): seals the page before it, or makes PAGE the chain's
 * first. */
static inline void hk_chain_extend(struct hk_chain_end *chain, struct hk_chain *shared,
				   struct hk_page *page, uint32_t number)
{
	if (chain->page) {
		/* `next` before FULL: a FULL page always has a successor. */
		atomic_store_explicit(&chain->page->next, number, memory_order_release);
		atomic_store_explicit(&chain->page->state, HK_PAGE_FULL, memory_order_release);
	} else {
		atomic_store_explicit(&shared->first, number, memory_order_release);
	}
	chain->page = page;
	chain->cursor = page->body;
	chain->end = (uint64_t *)(void *)((char *)page + HK_BLOCK_BYTES);
}

#endif
