#include "cli/export/call_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "hooks/hook.h"

struct hk_call_open {
	struct hk_call_node *node;
	uint64_t start_ns;
	uint64_t inner_ns; /* in calls inside of it */
};

/* The node of a whole stack, so that it is not looked up frame by frame each time. */
struct stack_key {
	const struct hk_call_node *root;
	const struct hk_export_process *process;
	uint64_t stack;
};

struct hk_call_stack {
	UT_hash_handle hh;
	struct stack_key key;
	struct hk_call_node *node;
};

/* ---- nodes ---- */

static struct hk_call_node *node_new(struct hk_call_tree *tree, struct hk_call_node_key key)
{
	struct hk_call_node *node = calloc(1, sizeof(*node));

	if (!node) {
		return NULL;
	}
	node->key = key;
	HASH_ADD(hh, tree->nodes, key, sizeof(key), node);
	if (!node->hh.tbl) {
		free(node);
		return NULL;
	}
	return node;
}

struct hk_call_node *hk_call_tree_node(struct hk_call_tree *tree, struct hk_call_node *parent,
				       const void *frame)
{
	struct hk_call_node_key key = {.parent = parent, .frame = frame};
	struct hk_call_node *node;

	if (!frame) {
		return NULL;
	}
	HASH_FIND(hh, tree->nodes, &key, sizeof(key), node);
	return node ? node : node_new(tree, key);
}

/* Returns the node of the innermost of COUNT frames, which lie on the root of TRACK. */
static struct hk_call_node *climb(struct hk_call_tree *tree, const struct hk_call_track *track,
				  const uint32_t *numbers, size_t count)
{
	struct hk_call_node *node = track->root;

	while (node && count > 0) {
		const struct hk_callers_frame *frame =
		    hk_callers_get(tree->callers, track->process, numbers[--count]);
		for (uint32_t i = frame ? frame->count : 0; node && i > 0; i--) {
			node = hk_call_tree_node(tree, node,
						 tree->caller(tree->context, track->process,
							      numbers[count],
							      &frame->functions[i - 1]));
		}
		node = frame ? node : NULL;
	}
	return node;
}

static struct hk_call_node *stack_node(struct hk_call_tree *tree, const struct hk_call_track *track,
				       uint32_t number, const uint32_t *numbers, size_t count)
{
	struct stack_key key = {track->root, track->process, number};
	struct hk_call_stack *stack;

	HASH_FIND(hh, tree->stacks, &key, sizeof(key), stack);
	if (stack) {
		return stack->node;
	}
	stack = calloc(1, sizeof(*stack));
	if (!stack) {
		return NULL;
	}
	stack->key = key;
	stack->node = climb(tree, track, numbers, count);
	HASH_ADD(hh, tree->stacks, key, sizeof(key), stack);
	if (!stack->node || !stack->hh.tbl) {
		if (stack->hh.tbl) {
			HASH_DEL(tree->stacks, stack);
		}
		free(stack);
		return NULL;
	}
	return stack->node;
}

/* Returns the node of a call of TRACK that begins now. */
static struct hk_call_node *node_of(struct hk_call_tree *tree, const struct hk_call_track *track,
				    const struct hk_slice *slice)
{
	struct hk_call_node *top = track->depth ? track->calls[track->depth - 1].node : track->root;
	uint32_t numbers[HK_CALLERS_MOST];
	size_t count = slice->stack ? hk_callers_of(track->process, slice->stack, numbers) : 0;

	if (track->depth > HK_CALL_TREE_DEPTH) {
		return top;
	}
	if (track->depth == HK_CALL_TREE_DEPTH) {
		return hk_call_tree_node(tree, top, tree->deeper(tree->context));
	}
	if (count > 0) {
		top = stack_node(tree, track, slice->stack, numbers, count);
	}
	if (!top || top->last_site == slice->site) {
		return top ? top->last : NULL;
	}
	top->last = hk_call_tree_node(tree, top, tree->site(tree->context, slice->site));
	top->last_site = top->last ? slice->site : NULL;
	return top->last;
}

/* ---- calls ---- */

static int reserve(struct hk_call_track *track)
{
	size_t capacity = track->capacity ? track->capacity * 2 : 16;
	struct hk_call_open *calls;

	if (track->depth < track->capacity) {
		return 0;
	}
	calls = reallocarray(track->calls, capacity, sizeof(*calls));
	if (!calls) {
		return -ENOMEM;
	}
	track->calls = calls;
	track->capacity = capacity;
	return 0;
}

static uint64_t within(const struct hk_call_tree *tree, uint64_t time_ns)
{
	time_ns = time_ns < tree->from_ns ? tree->from_ns : time_ns;
	return time_ns > tree->to_ns ? tree->to_ns : time_ns;
}

/* Returns the bytes that SLICE moved. */
static uint64_t bytes_of(const struct hk_slice *slice)
{
	for (unsigned i = 0; i < slice->word_count && !slice->failed && !slice->unwound; i++) {
		if (slice->site->keys[i] == HK_KEY_BYTES &&
		    hk_exporter_has_value(HK_KEY_BYTES, slice->words[i])) {
			return slice->words[i];
		}
	}
	return 0;
}

int hk_call_tree_open(struct hk_call_tree *tree, struct hk_call_track *track,
		      const struct hk_slice *slice)
{
	struct hk_call_node *node = node_of(tree, track, slice);

	if (!node || reserve(track) < 0) {
		return -ENOMEM;
	}
	track->calls[track->depth++] =
	    (struct hk_call_open){.node = node, .start_ns = within(tree, slice->start_ns)};
	return 0;
}

void hk_call_tree_close(struct hk_call_tree *tree, struct hk_call_track *track,
			const struct hk_slice *slice)
{
	struct hk_call_open *call = &track->calls[--track->depth];
	uint64_t total_ns = within(tree, slice->end_ns) - call->start_ns;

	if (track->depth) {
		call[-1].inner_ns += total_ns;
	}
	call->node->calls++;
	call->node->own_ns += total_ns > call->inner_ns ? total_ns - call->inner_ns : 0;
	call->node->bytes += bytes_of(slice);
}

int hk_call_tree_instant(struct hk_call_tree *tree, const struct hk_call_track *track,
			 const struct hk_slice *slice)
{
	struct hk_call_node *node = node_of(tree, track, slice);

	if (!node) {
		return -ENOMEM;
	}
	node->calls++;
	return 0;
}

/* ---- the end ---- */

void hk_call_track_fini(struct hk_call_track *track)
{
	free(track->calls);
}

void hk_call_tree_fini(struct hk_call_tree *tree)
{
	struct hk_call_node *node, *next_node;
	struct hk_call_stack *stack, *next_stack;

	HASH_ITER (hh, tree->stacks, stack, next_stack) {
		HASH_DEL(tree->stacks, stack);
		free(stack);
	}
	HASH_ITER (hh, tree->nodes, node, next_node) {
		HASH_DEL(tree->nodes, node);
		free(node);
	}
}
