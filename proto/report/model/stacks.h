/* stacks.h: the stacks of a process in its message: frames by their number.
 *
 * A message may come from a peer or a file: hk_stacks_valid says once whether its columns fit
 * together. The other functions take any number. No state.
 */
#ifndef HK_REPORT_MODEL_STACKS_H
#define HK_REPORT_MODEL_STACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/wire.pb-c.h"

#define HK_STACKS_PART_FRAMES 1000u
#define HK_STACKS_OBJECT_END 0xffffffffu    /* no frame, but why no further one is known */
#define HK_STACKS_OBJECT_PYTHON 0x80000000u /* and the number of a Python function */
#define HK_STACKS_NAME_PENDING 0xffffffffu  /* in a column of names: not looked up yet */
#define HK_STACKS_FUNCTIONS_MOST 33u	    /* at one frame, its own included */

struct hk_stacks_frame {
	uint32_t caller; /* number, lower than the frame's own; 0: none */
	/* Number; 0: code of no object; HK_STACKS_OBJECT_END; for Python HK_STACKS_OBJECT_PYTHON
	 * and more. */
	uint32_t object;
	uint64_t address;    /* of a Python function the line, 0: not known */
	const char *path;    /* of the object, or the Python file; "" without one */
	const char *name;    /* of the function, as its file spells it; "": not known */
	uint32_t first_line; /* of a Python function */
};

/* A function at a frame: the frame's own, or one that the compiler inlined there. */
struct hk_stacks_function {
	const char *name;    /* as its file spells it; "": not known */
	const char *library; /* path of its object; "": generated code, or of Python */
	const char *file;    /* of the source; "": not known */
	uint32_t line;	     /* under way; 0: not known */
	bool inlined;	     /* into the function that follows */
};

/* Returns whether the parts of PROCESS's frames, and of its Python functions, follow each other and
 * their columns are equally long. */
bool hk_stacks_valid(const Hk__Process *process);

static inline bool hk_stacks_is_python(const struct hk_stacks_frame *frame)
{
	return frame->object >= HK_STACKS_OBJECT_PYTHON && frame->object != HK_STACKS_OBJECT_END;
}

/* Writes to TEXT why the stacks of PROCESS have no frames of its Python interpreter. Returns false
 * if they have them, or if there is no interpreter. */
bool hk_stacks_without_python(const Hk__Process *process, char *text, size_t size);

/* Sets *ret_frame to frame NUMBER of PROCESS, which is valid. Returns false if there is none. */
bool hk_stacks_frame(const Hk__Process *process, uint32_t number,
		     struct hk_stacks_frame *ret_frame);

/* Sets RET_FUNCTIONS to the functions at frame NUMBER of PROCESS, which is valid: inlined ones,
 * innermost first, then the frame's own. Returns how many there are, or 0 without such a frame. */
size_t hk_stacks_functions(const Hk__Process *process, uint32_t number,
			   struct hk_stacks_function ret_functions[HK_STACKS_FUNCTIONS_MOST]);

#endif
