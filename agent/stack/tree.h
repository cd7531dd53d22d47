/* tree.h: the stacks of this process, each kept once.
 *
 * All stacks form a tree, whose nodes are the segment's frames (ring/segment.h): a stack is its
 * innermost frame. A stack that was seen before is found by its hash, without a lock.
 */
#ifndef HK_AGENT_STACK_TREE_H
#define HK_AGENT_STACK_TREE_H

#include "agent/frame/call.h"
#include "agent/record/thread.h"
#include "agent/stack/code.h"

/* Returns the number, from 1 on, of the stack of the function that made CALL, which is leaving.
 * Returns 0, and counts that, if it cannot be kept. General registers only. */
uint32_t hk_tree_take(struct hk_thread *thread, const struct hk_call *call);

/* Returns the number of the object in the segment, or 0 if there is no room. Under the process's
 * lock. General registers only. */
uint32_t hk_tree_object(const struct hk_code *code);

#endif
