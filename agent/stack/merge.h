/* merge.h: native and Python frames of a stack in one order, innermost first.
 *
 * The native frame of the interpreter's evaluation loop gives way to the Python frames that it
 * runs. From 3.11 on each evaluation leaves a mark in its native frame. Before, each runs one
 * frame. A native frame without Python frames stays.
 */
#ifndef HK_AGENT_STACK_MERGE_H
#define HK_AGENT_STACK_MERGE_H

#include "agent/stack/python.h"

/* A frame: the index of its address in the walk, or HK_MERGED_PYTHON and the index of its item. */
#define HK_MERGED_PYTHON 0x8000u
struct hk_merged {
	uint32_t count;
	uint16_t frame[HK_WALK_FRAMES + HK_PYTHON_FRAMES];
};

/* Merges the COUNT items of the thread that WALK is of. DEEP: outer Python frames are missing. */
void hk_merge(const struct hk_thread_walk *walk, const struct hk_interpreter *interpreter,
	      const struct hk_python_item *items, uint32_t count, bool deep,
	      struct hk_merged *ret_merged);

#endif
