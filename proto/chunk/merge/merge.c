#include "chunk/merge/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "chunk/merge/merge_tree.h"
#include "chunk/merge/merge_window.h"
#include "chunk/read/cursor.h"

/* After the n-th failure of a window in a row the tree finds 2^n times as many records as a window
 * holds, before the next window is tried. n counts up to this. */
#define PAUSE_DOUBLINGS_MAX 5u

struct hk_merge {
	struct hk_merge_window window;
	struct hk_merge_tree tree;
	struct hk_merge_streams streams;
	uint64_t tree_left; /* records until a window is tried again; 0: the tree is not used */
	unsigned doublings;
};

int hk_merge_cursor_batch(void *cursor, const struct hk_record **ret_records, size_t *ret_count)
{
	return hk_cursor_batch(cursor, ret_records, ret_count);
}

/* Takes a stream's next batch; returns 0 at the end too, and closes the stream. */
static int refill(struct hk_merge_stream *stream)
{
	size_t count = 0;
	int rc = stream->input.batch(stream->input.context, &stream->at, &count);

	if (rc <= 0) {
		stream->at = stream->end = NULL;
		stream->start_ns = stream->last_ns = INT64_MAX;
		return rc;
	}
	stream->end = stream->at + count;
	stream->start_ns = hk_merge_stream_ns(stream, stream->at);
	stream->last_ns = HK_UNKNOWN_NS;
	return 0;
}

static int start(struct hk_merge *merge, const struct hk_merge_input *inputs)
{
	int64_t base_ns = INT64_MAX;

	for (uint32_t i = 0; i < merge->streams.count; i++) {
		struct hk_merge_stream *stream = &merge->streams.all[i];
		stream->input = inputs[i];
		int rc = refill(stream);
		if (rc < 0) {
			return rc;
		}
		base_ns = stream->start_ns < base_ns ? stream->start_ns : base_ns;
	}
	merge->tree.base_ns = base_ns;
	return 0;
}

int hk_merge_new(const struct hk_merge_input *inputs, size_t count, struct hk_merge **ret_merge)
{
	struct hk_merge *merge;
	int rc = -ENOMEM;

	if (count > HK_MERGE_INPUTS_MAX) {
		return -EINVAL;
	}
	merge = calloc(1, sizeof(*merge));
	if (!merge) {
		return -ENOMEM;
	}
	merge->streams.count = (uint32_t)count;
	merge->streams.drained = HK_NO_STREAM;
	merge->streams.all = calloc(count + 1, sizeof(*merge->streams.all));
	if (merge->streams.all && hk_merge_window_init(&merge->window, count) &&
	    hk_merge_tree_init(&merge->tree, count)) {
		rc = start(merge, inputs);
	}
	if (rc < 0) {
		hk_merge_free(merge);
		return rc;
	}
	*ret_merge = merge;
	return 0;
}

struct hk_merge *hk_merge_free(struct hk_merge *merge)
{
	if (merge) {
		hk_merge_window_fini(&merge->window);
		hk_merge_tree_fini(&merge->tree);
		free(merge->streams.all);
		free(merge);
	}
	return NULL;
}

/* Replaces the batch that is used up; an error closes its input. */
static int refill_drained(struct hk_merge *merge)
{
	uint32_t input = merge->streams.drained;
	int rc = refill(&merge->streams.all[input]);

	merge->streams.drained = HK_NO_STREAM;
	if (merge->tree_left) {
		hk_merge_tree_refilled(&merge->tree, &merge->streams, input);
	}
	return rc;
}

/* Opens a window unless the tree is better, judged by the window just used up. */
static bool open_window(struct hk_merge *merge)
{
	struct hk_merge_window *window = &merge->window;
	bool sparse = window->sparse;

	window->sparse = false;
	if (sparse || merge->streams.count > HK_MERGE_WINDOW_STREAMS_MAX ||
	    !hk_merge_window_open(window, &merge->streams, merge->tree.base_ns,
				  merge->tree.latest)) {
		return false;
	}
	merge->doublings = window->sparse ? merge->doublings : 0;
	return true;
}

/* Finds records, in a window or with the tree. */
static int find_more(struct hk_merge *merge)
{
	struct hk_merge_tree *tree = &merge->tree;
	int rc = merge->streams.drained != HK_NO_STREAM ? refill_drained(merge) : 0;

	if (!merge->tree_left) {
		if (open_window(merge)) {
			return rc;
		}
		merge->doublings += merge->doublings < PAUSE_DOUBLINGS_MAX;
		merge->tree_left = (uint64_t)merge->window.capacity << merge->doublings;
		hk_merge_tree_plant(tree, &merge->streams);
	}
	hk_merge_tree_find(tree, &merge->streams);
	merge->tree_left -= tree->held < merge->tree_left ? tree->held : merge->tree_left;
	return rc;
}

/* A function of its own, so that the common path of next needs no registers for it. */
static __attribute__((noinline)) int find_and_next(struct hk_merge *merge,
						   struct hk_merged *ret_merged)
{
	int rc = find_more(merge);
	bool found =
	    merge->window.next != merge->window.end || merge->tree.shown != merge->tree.held;

	return rc < 0 || !found ? rc : hk_merge_next(merge, ret_merged);
}

int hk_merge_next(struct hk_merge *merge, struct hk_merged *ret_merged)
{
	if (merge->window.next != merge->window.end) {
		*ret_merged = hk_merge_window_next(&merge->window);
		return 1;
	}
	if (merge->tree.shown != merge->tree.held) {
		*ret_merged = merge->tree.found[merge->tree.shown++];
		return 1;
	}
	return find_and_next(merge, ret_merged);
}
