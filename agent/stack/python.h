/* python.h: the Python frames of the calling thread, innermost first, read without the GIL.
 *
 * A thread's frames and their code objects live as long as it runs them, so they are read in place.
 * Every page that a walk has not met before is checked first. A frame may be just ending: what a
 * walk finds is checked for its type, and the walk ends before what is no frame.
 */
#ifndef HK_AGENT_STACK_PYTHON_H
#define HK_AGENT_STACK_PYTHON_H

#include "agent/record/thread.h"
#include "agent/stack/interpreter.h"

#define HK_PYTHON_FRAMES 240u /* of one stack; its outer ones are left out */
#define HK_PYTHON_ITEMS (2u * HK_PYTHON_FRAMES)

/* A Python frame; or the mark behind the outermost frame of one native evaluation. */
struct hk_python_item {
	uint64_t code; /* address of the code object; 0: a mark */
	/* Of a frame: the instruction under way, in bytes from the code's start, negative if the
	 * frame has not begun. Of a mark: an address within the native frame of the evaluation, or,
	 * before 3.11, the frame object that the evaluation runs. */
	int64_t place;
};

/* How much of a walk is read by means of the kernel, for fear that memory is gone. */
enum hk_python_care {
	HK_PYTHON_USUAL,   /* pages that were not met before */
	HK_PYTHON_FREEING, /* what the innermost frame consists of: memory is being freed */
	HK_PYTHON_SIGNAL,  /* all: a signal interrupted the interpreter */
};

/* Returns HASH, and the Python frames of the calling thread added to it. HASH itself: there are
 * none. */
uint64_t hk_python_hash(uint64_t hash, enum hk_python_care care);

/* Writes the frames and marks to ITEMS, at most HK_PYTHON_ITEMS. Returns how many there are.
 * *ret_deep says whether outer ones are missing. */
uint32_t hk_python_items(struct hk_python_item *items, enum hk_python_care care, bool *ret_deep);

/* Returns a number that code object CODE does not share with others, whether before or after it at
 * its address. */
uint64_t hk_python_identity(const struct hk_interpreter *interpreter, uint64_t code);

/* Returns whether BYTES at ADDRESS are readable, as far as that can be known. */
bool hk_python_may_read(uint64_t address, uint64_t bytes, enum hk_python_care care);

#endif
