/* call_tree.h: distinct stacks of calls and their weights, for exporters that sum calls by stack.
 *
 * A stack is a node: its innermost frame, and its parent for the others. A frame is an address that
 * the exporter chooses, one for equal frames. A call lies behind the frames of its caller's stack
 * where that was kept, else behind the call that it was made in. A call's own time is what was not
 * spent in calls inside of it. Memory grows with the number of distinct stacks. One thread.
 */
#ifndef HK_CLI_EXPORT_CALL_TREE_H
#define HK_CLI_EXPORT_CALL_TREE_H

#include "cli/export/callers.h"
#include "cli/export/exporter.h"

#include <uthash.h>

/* Deeper calls are summed in one frame: a reader may write out every call on the path. */
#define HK_CALL_TREE_DEPTH 512u
/* Most nodes on a path, with some that the exporter puts below the calls. */
#define HK_CALL_TREE_PATH (HK_CALL_TREE_DEPTH + HK_CALLERS_MOST * HK_EXPORT_FUNCTIONS + 16u)

struct hk_call_node_key {
	const struct hk_call_node *parent; /* NULL: the root of all */
	const void *frame;
};

struct hk_call_node {
	UT_hash_handle hh; /* of all nodes but the root */
	struct hk_call_node_key key;
	uint64_t calls, own_ns, bytes;
	const struct hk_export_site *last_site; /* the most recent call inside of it ... */
	struct hk_call_node *last;		/* ... and its node */
};

struct hk_call_stack;

struct hk_call_tree {
	/* Return the frame of a call of SITE, of CALLER at frame NUMBER of PROCESS, and for all
	 * calls that are too deep. NULL: out of memory. */
	const void *(*site)(void *context, const struct hk_export_site *site);
	const void *(*caller)(void *context, const struct hk_export_process *process,
			      uint32_t number, const struct hk_caller *caller);
	const void *(*deeper)(void *context);
	void *context;
	struct hk_callers *callers; /* the exporter's */
	uint64_t from_ns, to_ns;    /* time outside is not counted */
	struct hk_call_node root, *nodes;
	struct hk_call_stack *stacks; /* nodes of stacks that occurred */
};

/* The open calls of a thread. */
struct hk_call_track {
	struct hk_call_node *root; /* below all its calls */
	const struct hk_export_process *process;
	struct hk_call_open *calls;
	size_t depth, capacity;
};

/* Returns the node of FRAME on PARENT, or NULL without memory. */
struct hk_call_node *hk_call_tree_node(struct hk_call_tree *tree, struct hk_call_node *parent,
				       const void *frame);

/* Begin and end a call of TRACK. Return 0 or -ENOMEM. */
int hk_call_tree_open(struct hk_call_tree *tree, struct hk_call_track *track,
		      const struct hk_slice *slice);
void hk_call_tree_close(struct hk_call_tree *tree, struct hk_call_track *track,
			const struct hk_slice *slice);

/* Counts a call without duration. Returns 0 or -ENOMEM. */
int hk_call_tree_instant(struct hk_call_tree *tree, const struct hk_call_track *track,
			 const struct hk_slice *slice);

/* Free what was added. The frames are the exporter's. */
void hk_call_track_fini(struct hk_call_track *track);
void hk_call_tree_fini(struct hk_call_tree *tree);

#endif
