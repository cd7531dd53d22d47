#include "agent/call/open.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "agent/call/kept.h"
#include "agent/call/measure.h"
#include "agent/frame/hot.h"
#include "agent/frame/site_table.h"
#include "agent/record/process.h"
#include "base/clock.h"
#include "ring/kernel.h"

/* Frames farther apart than this are on different stacks, in units of 16 bytes as all frames here.
 */
#define SAME_STACK (1 << (HK_STACK_SHIFT - 4))

/* A distance at which no frame lies, and above none: the call whose frame is next to it takes the
 * long way out. */
#define BESIDE 8u

enum where {
	LEFT,  /* at or below the thread's position on the same stack, or on a stack that ended */
	OPEN,  /* above the position on the same stack */
	APART, /* on another stack, of a fiber or an interrupted one; may continue */
};

struct view {
	uint32_t here;
	uint32_t alternate, alternate_size; /* signal stack; size 0: none */
	bool on_alternate;
};

static bool is_alternate(const struct view *view, uint32_t frame)
{
	return frame - view->alternate < view->alternate_size;
}

static struct view view_from(uint64_t frame)
{
	struct view view = {.here = (uint32_t)(frame >> 4)};
	stack_t stack;
	/* In a sandbox no system call may ask for the signal stack. Distance alone then separates
	 * stacks. */
	if (!hk_process.sealed && hk_kernel(SYS_sigaltstack, 0, &stack, 0, 0, 0, 0) == 0 &&
	    !(stack.ss_flags & SS_DISABLE)) {
		view.alternate = (uint32_t)((uintptr_t)stack.ss_sp >> 4);
		view.alternate_size = (uint32_t)(stack.ss_size >> 4);
	}
	view.on_alternate = is_alternate(&view, view.here);
	return view;
}

static enum where locate(const struct view *view, uint32_t frame)
{
	if (is_alternate(view, frame) != view->on_alternate) {
		return view->on_alternate ? APART : LEFT;
	}
	int32_t below = (int32_t)(view->here - frame);
	if (below >= SAME_STACK || below <= -SAME_STACK) {
		return APART;
	}
	return below < 0 ? OPEN : LEFT;
}

static struct hk_open_call *entry(const struct hk_thread *thread, uint32_t at)
{
	return &thread->slot->open[at % HK_OPEN_CALLS];
}

static uint32_t oldest_known(const struct hk_thread *thread)
{
	return thread->depth > HK_OPEN_CALLS ? thread->depth - HK_OPEN_CALLS : 0;
}

static void move(struct hk_open_call *to, const struct hk_open_call *from)
{
	to->site = from->site;
	to->frame = from->frame;
	to->start_ticks = from->start_ticks;
}

/* Whether a call of SITE is plain. It may begin in one function and end in another, so no address
 * tells whether it was left. */
static bool is_plain(const struct hk_site_hot *site)
{
	return site->index >= HK_PLAIN_FIRST;
}

static uint64_t domains_of(const struct hk_thread *thread, uint32_t oldest)
{
	uint64_t domains = 0;
	for (uint32_t at = oldest; at < thread->depth; at++) {
		const struct hk_site_hot *site = hk_site_table_find(entry(thread, at)->site);
		domains |= site ? site->domain : 0;
	}
	for (uint32_t i = 0; i < thread->range_depth && i < HK_RANGES; i++) {
		const struct hk_plain_call *call = &thread->ranges[i].call;
		domains |= call->thread ? call->site->domain : 0;
	}
	return domains;
}

/* Drops the calls that were left and keeps the others in order. The kept calls hold outdated values
 * from their start: `inner` is the frame of none of them, so all of them come to hk_open_close. */
static void keep_open(struct hk_thread *thread, const struct view *view, uint64_t frame)
{
	uint32_t oldest = oldest_known(thread), kept = oldest;
	uint64_t inner = ~0ULL;
	for (uint32_t at = oldest; at < thread->depth; at++) {
		const struct hk_open_call *open = entry(thread, at);
		const struct hk_site_hot *site = hk_site_table_find(open->site);
		bool plain = site && is_plain(site);
		enum where where = plain ? OPEN : locate(view, open->frame);
		if (!site || where == LEFT) {
			continue;
		}
		int64_t above = (int32_t)(open->frame - view->here);
		if (!plain) {
			inner = where == OPEN ? frame + (uint64_t)(above * 16) - BESIDE : ~0ULL;
		}
		if (kept != at) {
			move(entry(thread, kept), open);
		}
		kept++;
	}
	for (uint32_t at = kept; at < thread->depth; at++) {
		hk_open_unknown(entry(thread, at));
	}
	thread->depth = kept;
	thread->inner = inner;
	/* A signal handler jumped out of these calls while they wrote their records, which stay
	 * unfinished. */
	thread->busy = thread->busy > kept ? 0 : thread->busy;
	thread->nested_busy = thread->nested_busy > kept ? 0 : thread->nested_busy;
	thread->domains = domains_of(thread, oldest);
	atomic_store_explicit(&thread->slot->depth, kept, memory_order_relaxed);
}

/* Ends the calls that were left, innermost first. */
static void leave_below(struct hk_thread *thread, const struct view *view, uint32_t from)
{
	for (uint32_t at = thread->depth; at > from; at--) {
		struct hk_open_call *open = entry(thread, at - 1);
		const struct hk_site_hot *site = hk_site_table_find(open->site);
		if (site && !is_plain(site) && locate(view, open->frame) == LEFT) {
			hk_call_left(thread, open);
		}
	}
}

/* Ends the plain calls, and if ALL the others too, that began from FROM on. */
static void leave_inside(struct hk_thread *thread, uint32_t from, bool all)
{
	for (uint32_t at = thread->depth; at > from; at--) {
		struct hk_open_call *open = entry(thread, at - 1);
		const struct hk_site_hot *site = hk_site_table_find(open->site);
		if (site && (all || is_plain(site))) {
			hk_call_left(thread, open);
			hk_open_unknown(open);
		}
	}
}

/* Returns the thread's position in CALL. A call that CALL's end jumped to has the same frame and is
 * open, so CALL counts as one unit below it. */
static uint64_t place_of(const struct hk_call *call)
{
	return (uint64_t)&call->caller_frame -
	       (hk_kept_is_return_place(call->return_address) ? 16 : 0);
}

void hk_open_unwind_stale(struct hk_thread *thread, const struct hk_call *call)
{
	uint64_t frame = (uint64_t)&call->caller_frame, place = place_of(call);
	struct view view = view_from(place);
	leave_below(thread, &view, oldest_known(thread));
	keep_open(thread, &view, place);
	if (thread->inner == frame - BESIDE) {
		thread->inner = frame + BESIDE; /* CALL begins below this frame */
	}
}

static enum hk_kept_fate fate(const void *view, uint64_t frame)
{
	enum where where = locate(view, (uint32_t)(frame >> 4));
	return where == OPEN ? HK_KEPT_OPEN : where == LEFT ? HK_KEPT_LEFT : HK_KEPT_APART;
}

bool hk_open_make_room(struct hk_thread *thread, uint64_t frame)
{
	struct view view = view_from(frame);
	bool room = thread->kept != thread->kept_end || hk_kept_make_room(thread, fate, &view);
	thread->crowded = room ? 0 : HK_KEPT_CROWD;
	return room;
}

void hk_open_end_query(uint64_t frame)
{
	struct hk_thread *thread = hk_thread_current;
	struct view view = view_from(frame);
	if (thread->asking && locate(&view, (uint32_t)(thread->asking >> 4)) == LEFT) {
		thread->asking = 0;
		thread->countdown = 1;
		thread->ready = 1;
		hk_in_agent = 0;
	}
}

bool hk_open_close(const struct hk_call *call)
{
	struct hk_thread *thread = call->thread;
	uint64_t place = place_of(call);
	uint32_t frame = (uint32_t)((uint64_t)&call->caller_frame >> 4);
	struct view view = view_from(place);
	uint32_t oldest = oldest_known(thread), at = thread->depth;
	while (at > oldest && (entry(thread, at - 1)->frame != frame ||
			       entry(thread, at - 1)->site != hk_hot_number(call->site))) {
		at--;
	}
	bool known = at > oldest;
	leave_below(thread, &view, at);
	if (known) {
		hk_open_unknown(entry(thread, at - 1));
		leave_inside(thread, at, false);
	}
	keep_open(thread, &view, place);
	/* The call is too deep to be known. All known calls were below it and were left. */
	bool deeper = !known && call->depth < oldest && thread->depth == oldest;
	return deeper || (known && at - 1 == call->depth && thread->depth == call->depth);
}

/* Returns the place behind the open call that began at START_TICKS at place DEPTH, or 0 if it is
 * not known to be open. Calls that were left before it may have made its place a lower one. */
static uint32_t find_plain(const struct hk_thread *thread, uint64_t start_ticks, uint32_t depth)
{
	uint32_t oldest = oldest_known(thread), at = thread->depth;
	while (at > oldest && entry(thread, at - 1)->start_ticks != start_ticks) {
		at--;
	}
	if (at > oldest) {
		return at;
	}
	/* A deeper call had its entry, or all calls with entries are inside of it. */
	bool lost = depth >= oldest && depth < thread->depth &&
		    entry(thread, depth)->site == HK_OPEN_UNKNOWN;
	return lost || depth < oldest ? depth + 1 : 0;
}

/* Returns the innermost known frame of a hooked function of THREAD, which has called the function
 * with FRAME, but for BESIDE, or ~0 if there is none on this stack. */
static uint64_t innermost_beside(const struct hk_thread *thread, uint64_t frame)
{
	struct view view = view_from(frame);
	for (uint32_t at = thread->depth; at > oldest_known(thread); at--) {
		const struct hk_open_call *open = entry(thread, at - 1);
		const struct hk_site_hot *site = hk_site_table_find(open->site);
		if (site && !is_plain(site)) {
			int64_t above = (int32_t)(open->frame - view.here);
			bool is_open = locate(&view, open->frame) == OPEN;
			return is_open ? frame + (uint64_t)(above * 16) - BESIDE : ~0ULL;
		}
	}
	return ~0ULL;
}

bool hk_open_close_plain(struct hk_thread *thread, uint64_t start_ticks, uint32_t *depth)
{
	uint32_t at = find_plain(thread, start_ticks, *depth), oldest = oldest_known(thread);
	if (!at) {
		return false;
	}
	leave_inside(thread, at > oldest ? at : oldest, true);
	hk_open_unknown(entry(thread, at - 1));
	thread->depth = *depth = at - 1;
	/* A handler jumped out of these calls while they wrote their records, as in keep_open. */
	thread->busy = thread->busy > at ? 0 : thread->busy;
	thread->nested_busy = thread->nested_busy > at ? 0 : thread->nested_busy;
	thread->inner = innermost_beside(thread, (uint64_t)__builtin_frame_address(0));
	return true;
}

void hk_open_end(struct hk_thread *thread)
{
	uint32_t oldest = oldest_known(thread);
	for (uint32_t at = thread->depth; at > oldest; at--) {
		hk_call_left(thread, entry(thread, at - 1));
	}
	thread->depth = 0;
	for (uint32_t at = thread->range_depth; at > 0; at--) {
		const struct hk_plain_call *call = &thread->ranges[at - 1].call;
		if (at <= HK_RANGES && call->thread) {
			const struct hk_open_call open = {.site = hk_hot_number(call->site),
							  .start_ticks = call->start_ticks};
			hk_call_left(thread, &open);
		}
	}
	thread->range_depth = 0;
}
