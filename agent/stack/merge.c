#include "agent/stack/merge.h"

#include <stddef.h>

#include "agent/stack/walk.h"

#define SCANNED_BYTES_MOST 8192u /* of a frame */

struct merging {
	const struct hk_thread_walk *walk;
	const struct hk_python_item *items;
	uint32_t count, next; /* items, and the first one that has no place yet */
	struct hk_merged *merged;
};

static uint64_t start_of(const struct hk_thread_walk *walk, uint32_t i)
{
	return i == 0 ? walk->start : walk->frame_end[i - 1];
}

static void add_native(struct merging *merging, uint32_t i)
{
	merging->merged->frame[merging->merged->count++] = (uint16_t)i;
}

/* Adds Python frames up to the next mark, and leaves that behind. Returns whether there were any.
 */
static bool add_run(struct merging *merging)
{
	bool any = false;

	while (merging->next < merging->count && merging->items[merging->next].code) {
		uint32_t frame = HK_MERGED_PYTHON | merging->next++;
		merging->merged->frame[merging->merged->count++] = (uint16_t)frame;
		any = true;
	}
	merging->next++;
	return any;
}

/* Returns the place of the next mark, 0: there is none. */
static uint64_t next_mark(const struct merging *merging)
{
	for (uint32_t i = merging->next; i < merging->count; i++) {
		if (!merging->items[i].code) {
			return (uint64_t)merging->items[i].place;
		}
	}
	return 0;
}

/* ---- by marks on the stack ---- */

static void merge_marked(struct merging *merging, uint32_t i)
{
	uint64_t start = start_of(merging->walk, i), end = merging->walk->frame_end[i];
	bool replaced = false;

	for (uint64_t mark; (mark = next_mark(merging)) && mark < end;) {
		bool any = add_run(merging);
		replaced = replaced || (any && mark >= start);
	}
	if (!replaced) {
		add_native(merging, i);
	}
}

/* ---- by the evaluation's own frames ---- */

/* Returns whether WORD lies in native frame I, or in registers that the function it called saved.
 */
static bool holds(const struct hk_thread_walk *walk, uint32_t i, uint64_t word)
{
	uint64_t end = walk->frame_end[i], from = start_of(walk, i == 0 ? 0 : i - 1);

	if (from % sizeof(uint64_t) || end < from || end - from > SCANNED_BYTES_MOST) {
		return false;
	}
	for (uint64_t at = from; at + sizeof(uint64_t) <= end; at += sizeof(uint64_t)) {
		if (*(const uint64_t *)at == word) {
			return true;
		}
	}
	return false;
}

/* Returns whether the evaluations do not match the Python frames one by one. Three cases: an
 * evaluation that has not begun, or has ended; frames of another interpreter or fiber; code of the
 * evaluation loop that the compiler placed elsewhere. */
static bool is_uneven(const struct merging *merging, struct hk_span evaluate)
{
	uint32_t evaluations = 0, frames = 0;

	for (uint32_t i = 0; i < merging->walk->count; i++) {
		evaluations += hk_span_holds(evaluate, merging->walk->address[i]);
	}
	for (uint32_t i = 0; i < merging->count; i++) {
		frames += merging->items[i].code != 0;
	}
	return merging->walk->end == HK_WALK_WHOLE ? evaluations != frames : evaluations > frames;
}

/* Returns the item of the first mark that native frame I holds, or the number of items. */
static uint32_t find_held(const struct merging *merging, uint32_t i)
{
	for (uint32_t k = merging->next; k < merging->count; k++) {
		const struct hk_python_item *item = &merging->items[k];
		if (!item->code && holds(merging->walk, i, (uint64_t)item->place)) {
			return k;
		}
	}
	return merging->count;
}

static void merge_evaluation(struct merging *merging, uint32_t i, bool uneven)
{
	uint32_t last = uneven ? find_held(merging, i) : merging->next;

	if (last >= merging->count) {
		add_native(merging, i);
		return;
	}
	/* Frames before it had no evaluation that was recognised. */
	do {
		add_run(merging);
	} while (merging->next <= last);
}

void hk_merge(const struct hk_thread_walk *walk, const struct hk_interpreter *interpreter,
	      const struct hk_python_item *items, uint32_t count, bool deep,
	      struct hk_merged *ret_merged)
{
	struct merging merging = {walk, items, count, 0, ret_merged};
	bool marked = interpreter && interpreter->layout.frame_owner;
	bool uneven = interpreter && !marked && is_uneven(&merging, interpreter->evaluate);

	ret_merged->count = 0;
	for (uint32_t i = 0; i < walk->count; i++) {
		bool evaluates =
		    interpreter && hk_span_holds(interpreter->evaluate, walk->address[i]);
		if (deep && evaluates && !next_mark(&merging)) {
			break; /* its outer frames are missing, and so what called it has no place
				*/
		}
		if (marked) {
			merge_marked(&merging, i);
		} else if (evaluates) {
			merge_evaluation(&merging, i, uneven);
		} else {
			add_native(&merging, i);
		}
	}
	/* The native part of the stack may end first. */
	while (merging.next < count) {
		add_run(&merging);
	}
}
