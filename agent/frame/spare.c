#include "agent/frame/spare.h"

#include <stddef.h>

#include "agent/memory/arena.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"

static_assert(offsetof(struct hk_thread, spare_cells) == HK_THREAD_SPARE, "layout.h");
static_assert(HK_SPARE_FIRST == HK_SITES_TIMED, "what readers know of it");
static_assert(HK_SITES_BOUND <= HK_SITES_MAX, "records have no larger numbers");

struct hk_site_hot *hk_spare_hot;
extern const char hk_spare_thunks[]; /* trampoline_spare.S */

bool hk_spare_begin(void)
{
	if (!hk_spare_hot && !hk_process.sealed) {
		hk_spare_hot = hk_arena_take(HK_SPARE_THUNKS * sizeof(*hk_spare_hot));
	}
	return hk_spare_hot != NULL;
}

void *hk_spare_thunk(uint32_t index)
{
	uint64_t number = index - HK_SPARE_FIRST;
	return (void *)(uintptr_t)(hk_spare_thunks + number * HK_SPARE_THUNK_BYTES);
}

uint32_t hk_spare_site(const void *address)
{
	uintptr_t at = (uintptr_t)address - (uintptr_t)hk_spare_thunks;
	return at < (uintptr_t)HK_SPARE_THUNKS * HK_SPARE_THUNK_BYTES
		   ? HK_SPARE_FIRST + (uint32_t)(at / HK_SPARE_THUNK_BYTES)
		   : HK_SITES_BOUND;
}
