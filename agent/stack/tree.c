#include "agent/stack/tree.h"

#include <stddef.h>

#include "agent/frame/hot.h"
#include "agent/frame/state.h"
#include "agent/memory/arena.h"
#include "agent/record/process.h"
#include "agent/stack/code.h"
#include "agent/stack/merge.h"
#include "agent/stack/place.h"
#include "agent/stack/python.h"
#include "agent/stack/python_code.h"
#include "agent/stack/python_names.h"
#include "agent/stack/walk.h"

#define STACKS_BITS 16
#define STACKS (1u << STACKS_BITS)
#define TRIES 16u /* places of the table that are looked at for one stack */
#define NODES_BITS_LEAST 14
#define NODES_BITS_MOST 21 /* holds HK_FRAMES_MAX at a half */
#define OBJECTS_MOST 4096u
#define RECENT 8u
#define REFUSED_NS 1000000000ull /* without room, the next look for some comes this much later */
#define MIX 0x9e3779b97f4a7c15ULL
/* A call further below than this is on another stack. */
#define NESTED_BYTES (1ull << 20)

#define HASH_TAKEN 1 /* its place is being given to another one */

struct stack {
	uint64_t hash; /* set last; 0: free */
	uint64_t number;
};

/* A frame of the segment. One object may be loaded several times, at different addresses. */
struct node {
	uint32_t caller, number; /* number 0: free */
	uint64_t place;		 /* address in memory and, in the upper bits, the object */
};

/* Written under the process's lock, and `stacks` read without it. */
static struct {
	struct stack *stacks;
	struct node *nodes;
	uint32_t *objects;	     /* by number of the loading (code.h): number in the segment */
	const void *_Atomic segment; /* that all numbers belong to */
	uint32_t node_bits, node_count; /* 2^bits places, 3/4 of which are used at most */
	uint64_t
	    refused_until; /* ticks: before that there is no room for a new stack; 0: there is */
	struct hk_python_item items[HK_PYTHON_ITEMS]; /* of the stack that is being added */
	struct hk_merged merged;
	struct hk_code recent[RECENT]; /* objects of the last frames */
	uint32_t recent_next;
	uint64_t recent_version; /* of code.h, when they were found */
} tree;

/* ---- look-up ---- */

static uint64_t key_of(const struct hk_thread_walk *walk)
{
	return walk->hash > HASH_TAKEN ? walk->hash : HASH_TAKEN + 1;
}

static struct stack *place_of(uint64_t key, uint32_t attempt)
{
	return &tree.stacks[((key >> (64 - STACKS_BITS)) + attempt) % STACKS];
}

static uint32_t find(uint64_t key)
{
	if (atomic_load_explicit(&tree.segment, memory_order_acquire) != hk_process.writer.header) {
		return 0;
	}
	for (uint32_t i = 0; i < TRIES; i++) {
		const struct stack *stack = place_of(key, i);
		uint64_t hash = __atomic_load_n(&stack->hash, __ATOMIC_ACQUIRE);
		if (hash == key) {
			uint32_t number =
			    (uint32_t)__atomic_load_n(&stack->number, __ATOMIC_ACQUIRE);
			/* Another stack may have taken its place meanwhile. */
			return __atomic_load_n(&stack->hash, __ATOMIC_RELAXED) == key ? number : 0;
		}
		if (!hash) {
			return 0;
		}
	}
	return 0;
}

/* ---- new stacks ---- */

/* A forked child has a segment of its own: nothing that the parent wrote is there. */
static void clear(void)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		tree.stacks[i].hash = 0;
	}
	for (uint32_t i = 0; i < 1u << tree.node_bits; i++) {
		tree.nodes[i].number = 0;
	}
	for (uint32_t i = 0; i < OBJECTS_MOST; i++) {
		tree.objects[i] = 0;
	}
	hk_python_names_clear();
	tree.node_count = 0;
}

static bool prepare(void)
{
	if (tree.segment == hk_process.writer.header) {
		return true;
	}
	if (tree.segment) {
		clear();
	}
	tree.stacks = tree.stacks ? tree.stacks : hk_arena_take(STACKS * sizeof(*tree.stacks));
	if (!tree.nodes) {
		tree.node_bits = NODES_BITS_LEAST;
		tree.nodes = hk_arena_take(sizeof(*tree.nodes) << tree.node_bits);
	}
	tree.objects =
	    tree.objects ? tree.objects : hk_arena_take(OBJECTS_MOST * sizeof(*tree.objects));
	if (!tree.stacks || !tree.nodes || !tree.objects) {
		return false;
	}
	atomic_store_explicit(&tree.segment, hk_process.writer.header, memory_order_release);
	return true;
}

/* Returns the object's number in the segment; 0: no room. */
static uint32_t object_of(const struct hk_code *code)
{
	if (code->number >= OBJECTS_MOST) {
		return 0;
	}
	uint32_t *number = &tree.objects[code->number];
	if (!*number) {
		*number = hk_writer_object(&hk_process.writer, code->path, code->build_id,
					   code->build_id_bytes);
	}
	return *number;
}

static struct node *node_of(uint32_t caller, uint64_t place)
{
	uint64_t at = (place ^ caller * MIX) * MIX >> (64 - tree.node_bits);

	for (;; at++) {
		struct node *node = &tree.nodes[at & ((1u << tree.node_bits) - 1)];
		if (!node->number || (node->caller == caller && node->place == place)) {
			return node;
		}
	}
}

/* Returns whether one more node has a place; moves all into twice as many places if need be. The
 * smaller array, which is a mapping of its own, goes back to the system. */
static bool node_room(void)
{
	uint32_t bits = tree.node_bits, places = 1u << bits;

	if (tree.node_count < places / 4 * 3) {
		return true;
	}
	struct node *old = tree.nodes;
	struct node *wider =
	    bits < NODES_BITS_MOST ? hk_arena_take(2ul * places * sizeof(*wider)) : NULL;
	if (!wider) {
		return false;
	}
	tree.nodes = wider;
	tree.node_bits = bits + 1;
	for (uint32_t i = 0; i < places; i++) {
		if (old[i].number) {
			*node_of(old[i].caller, old[i].place) = old[i];
		}
	}
	hk_arena_give(old, places * sizeof(*old));
	return true;
}

/* Returns the frame of the segment that CALLER called; 0: no room. PLACE identifies it here. */
static uint32_t frame_of(uint32_t caller, uint64_t place, uint32_t object, uint64_t address)
{
	struct node *node = node_of(caller, place);

	if (node->number) {
		return node->number;
	}
	uint32_t number =
	    node_room() ? hk_writer_frame(&hk_process.writer, caller, object, address) : 0;
	if (number) {
		*node_of(caller, place) = (struct node){caller, number, place};
		tree.node_count++;
	}
	return number;
}

#define PLACE_SHIFT 48 /* user space has no higher addresses on either processor */

/* Finds the object of ADDRESS. A stack has most of its frames in few objects. */
static bool find_code(uint64_t address, struct hk_code *ret_code)
{
	if (tree.recent_version != hk_code_version()) {
		for (uint32_t i = 0; i < RECENT; i++) {
			tree.recent[i].span = (struct hk_span){0, 0};
		}
		tree.recent_version = hk_code_version();
	}
	for (uint32_t i = 0; i < RECENT; i++) {
		if (hk_span_holds(tree.recent[i].span, address)) {
			*ret_code = tree.recent[i];
			return true;
		}
	}
	if (!hk_code_find(address, ret_code)) {
		return false;
	}
	tree.recent[tree.recent_next++ % RECENT] = *ret_code;
	return true;
}

static bool is_agent(const struct hk_code *code)
{
	return hk_span_holds(code->span, (uintptr_t)hk_places);
}

#define PLACE_PYTHON (1ull << 63)

/* Adds native function ADDRESS, called by *FRAME, which it becomes. Returns false without room. */
static bool add_native(uint32_t *frame, uint64_t address)
{
	struct hk_code code = {.number = 0};
	bool known = find_code(address, &code);

	if (known && is_agent(&code)) {
		return true;
	}
	uint32_t object = known ? object_of(&code) : 0;
	if (known && !object) {
		return false;
	}
	*frame = frame_of(*frame, address | (uint64_t)code.number << PLACE_SHIFT, object,
			  address - (known ? code.base : 0));
	return *frame;
}

/* The same for the Python function of ITEM. */
static bool add_python(uint32_t *frame, const struct hk_interpreter *interpreter,
		       const struct hk_python_item *item, enum hk_python_care care)
{
	uint32_t code = hk_python_names_number(interpreter, item->code, care);
	uint32_t line = hk_python_code_line(interpreter, item->code, item->place, care);

	*frame = code ? frame_of(*frame, PLACE_PYTHON | (uint64_t)code << 32 | line,
				 HK_FRAME_PYTHON | code, line)
		      : 0;
	return *frame;
}

/* Adds the frames from the outermost one to the innermost. */
static uint32_t add_frames(const struct hk_thread_walk *walk, enum hk_python_care care)
{
	const struct hk_interpreter *interpreter = hk_interpreter_get();
	uint32_t frame = 0;
	bool deep;

	uint32_t count = hk_python_items(tree.items, care, &deep);
	hk_merge(walk, interpreter, tree.items, count, deep, &tree.merged);
	uint32_t end = deep ? HK_WALK_DEEP : walk->end;
	if (end != HK_WALK_WHOLE) {
		frame = frame_of(0, end, HK_FRAME_END, end);
		if (!frame) {
			return 0;
		}
	}
	for (uint32_t i = tree.merged.count; i-- > 0;) {
		uint32_t from = tree.merged.frame[i];
		bool added = from & HK_MERGED_PYTHON
				 ? add_python(&frame, interpreter,
					      &tree.items[from & ~HK_MERGED_PYTHON], care)
				 : add_native(&frame, walk->address[from]);
		if (!added) {
			return 0;
		}
	}
	return frame;
}

/* Gives the stack a place, if need be that of another one. */
static void keep(uint64_t key, uint32_t number)
{
	struct stack *stack = place_of(key, number % TRIES);

	for (uint32_t i = 0; i < TRIES; i++) {
		if (!place_of(key, i)->hash) {
			stack = place_of(key, i);
			break;
		}
	}
	__atomic_store_n(&stack->hash, HASH_TAKEN, __ATOMIC_RELAXED);
	__atomic_store_n(&stack->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&stack->hash, key, __ATOMIC_RELEASE);
}

static uint32_t add_locked(const struct hk_thread_walk *walk, enum hk_python_care care)
{
	if (!prepare()) {
		return 0;
	}
	uint32_t number = find(key_of(walk));
	if (!number) {
		number = add_frames(walk, care);
		if (number) {
			keep(key_of(walk), number);
		}
	}
	return number;
}

/* The segment may have room again later. */
static uint64_t next_try(void)
{
	return hk_process.timeless
		   ? 1
		   : hk_process_ticks() + (REFUSED_NS << 32) / hk_process.tick_ns_q32;
}

static bool is_refused(void)
{
	uint64_t until = __atomic_load_n(&tree.refused_until, __ATOMIC_RELAXED);

	return until && (hk_process.timeless || (int64_t)(hk_process_ticks() - until) < 0);
}

static int add(void *walk, void *care)
{
	uint64_t signals = hk_process_block_signals();
	uint32_t number = 0;

	hk_in_agent = 1;
	if (!hk_process_forked() && hk_process_lock()) {
		number = add_locked(walk, *(const enum hk_python_care *)care);
		hk_process_unlock();
		tree.refused_until = number ? 0 : next_try();
	}
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return (int)number;
}

uint32_t hk_tree_object(const struct hk_code *code)
{
	return prepare() ? object_of(code) : 0;
}

/* ---- taking ---- */

/* Whether a walk of this thread, which a signal interrupted, waits for this call. A walk that was
 * left by longjmp does not. */
static bool is_nested(const struct hk_thread_walk *walk, uint64_t own)
{
	return walk->owner && own < walk->owner && walk->owner - own < NESTED_BYTES;
}

/* Returns how carefully Python's memory is to be read on the way out of CALL. */
static enum hk_python_care care_of(const struct hk_thread_walk *walk, const struct hk_call *call)
{
	uint8_t meaning = call->site->hook ? call->site->hook->meaning : HK_MEANING_NONE;

	if (walk->interrupted) {
		return HK_PYTHON_SIGNAL;
	}
	return meaning == HK_MEANING_FREE || meaning == HK_MEANING_UNMAP ? HK_PYTHON_FREEING
									 : HK_PYTHON_USUAL;
}

/* Returns the number of the stack that begins at FROM, native and Python frames, or 0. */
static uint32_t number_of(struct hk_thread_walk *walk, struct hk_frame from,
			  const struct hk_call *call)
{
	hk_walk_take(from, walk);
	enum hk_python_care care = care_of(walk, call);
	walk->hash = hk_python_hash(walk->hash, care);
	uint32_t number = find(key_of(walk));
	if (!number && !is_refused() && hk_state_may_save()) {
		number = (uint32_t)hk_state_saved(add, walk, &care);
	}
	return number;
}

static uint32_t take(struct hk_thread_walk *walk, const struct hk_call *call, uint64_t own)
{
	const struct hk_frame caller = {
	    .pc = call->return_address, .sp = (uint64_t)call->stack, .fp = call->caller_frame};
	uint32_t number = number_of(walk, caller, call);

	/* A signal handler on another stack may have taken its own meanwhile. */
	return walk->owner == own ? number : 0;
}

uint32_t hk_tree_take(struct hk_thread *thread, const struct hk_call *call)
{
	struct hk_thread_walk *walk = &thread->walk;
	uint64_t own = (uint64_t)call;
	uint32_t number = 0;

	if (!is_nested(walk, own)) {
		walk->owner = own;
		atomic_signal_fence(memory_order_seq_cst);
		number = take(walk, call, own);
		atomic_signal_fence(memory_order_seq_cst);
		walk->owner = walk->owner == own ? 0 : walk->owner;
	}
	if (!number && !hk_process_forked()) {
		atomic_fetch_add_explicit(&hk_process.writer.header->stacks_refused, 1,
					  memory_order_relaxed);
	}
	return number;
}
