/* interpreter.h: the CPython interpreter in this process, and where it keeps its frames.
 *
 * It is found by its exported functions: in libpython or in the program. Layouts are known for
 * CPython 3.8 to 3.13. Another version, or a free-threaded build, is left alone, and the segment
 * says which one it is.
 */
#ifndef HK_AGENT_STACK_INTERPRETER_H
#define HK_AGENT_STACK_INTERPRETER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/object/object.h"
#include "agent/stack/python_layout.h"

/* Immutable once published. */
struct hk_interpreter {
	struct hk_python_layout layout;
	void *(*thread)(void); /* the state of the calling thread, also without the GIL */
	void *(*holder)(void); /* before 3.12 of the thread that has the GIL, then of this one */
	int (*ends)(void);     /* whether threads' states are being freed */
	uint64_t code_type, frame_type, text_type, bytes_type;
	struct hk_span evaluate; /* the function that runs frames */
};

/* Before the first scan. */
void hk_interpreter_setup(void);

/* Looks for it after objects were loaded or unloaded. Every scan does, within the loader's lock. */
void hk_interpreter_refresh(void);

/* Returns the interpreter of this process as of the last scan, or NULL. Safe in signal handlers.
 * General registers only. */
const struct hk_interpreter *hk_interpreter_get(void);

/* What is known, as the segment has it (ring/segment.h, `python`). */
uint64_t hk_interpreter_status(void);

#endif
