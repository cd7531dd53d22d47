/* One page header: copied, then checked. */
#include <errno.h>

#include "ring/reader_map.h"

int hk_page_find(const struct hk_reader *reader, uint32_t slot, uint32_t stream, uint32_t number,
		 struct hk_page_view *ret_view)
{
	if (number == 0 || number >= reader->block_count ||
	    reader->blocks[number].kind != HK_BLOCK_PAGE) {
		return -EBADMSG;
	}
	const struct hk_page *page = hk_map_page(reader, number);
	/* The state first: what a FULL page says is final. Acquire pairs with the agent's releases.
	 */
	struct hk_page_view view = {
	    .state = atomic_load_explicit(&page->state, memory_order_acquire),
	    .next = atomic_load_explicit(&page->next, memory_order_acquire),
	    .written = atomic_load_explicit(&page->written, memory_order_acquire),
	    .position = hk_map_u64(&page->position),
	    .thread = hk_map_u64(&page->thread),
	    .tid = hk_map_u32(&page->tid),
	};
	if ((view.state != HK_PAGE_ACTIVE && view.state != HK_PAGE_FULL) ||
	    hk_map_u32(&page->slot) != slot || hk_map_u32(&page->stream) != stream ||
	    view.written > HK_PAGE_BODY_BYTES || view.written % sizeof(uint64_t) != 0 ||
	    view.position > HK_PAGE_POSITION_MAX || view.position % sizeof(uint64_t) != 0) {
		return -EBADMSG;
	}
	*ret_view = view;
	return 0;
}

int hk_page_follow(const struct hk_reader *reader, uint32_t slot, uint32_t stream,
		   const struct hk_page_view *view, struct hk_page_view *ret_next)
{
	struct hk_page_view next;
	int error = hk_page_find(reader, slot, stream, view->next, &next);
	if (error < 0) {
		/* A block newer than the last refresh is not damage, only not known yet. */
		const struct hk_segment_header *header = (const void *)reader->map;
		uint32_t blocks = atomic_load_explicit(&header->blocks, memory_order_acquire);
		bool early = view->next >= reader->block_count && view->next < blocks &&
			     blocks <= reader->blocks_max;
		return early ? -EAGAIN : error;
	}
	if (next.position != view->position + view->written) {
		return -EBADMSG;
	}
	*ret_next = next;
	return 0;
}
