/* python_layout.h: where a version of CPython keeps what a walk of its frames reads. */
#ifndef HK_AGENT_STACK_PYTHON_LAYOUT_H
#define HK_AGENT_STACK_PYTHON_LAYOUT_H

#include <stdint.h>

/* Offsets and sizes of CPython's structures. `thread_frame` is where a thread's state refers to its
 * innermost frame: itself (up to 3.10, and from 3.13 on), or by the entry of the evaluation under
 * way (3.11, 3.12). */
struct hk_python_layout {
	uint16_t version; /* 0x030c: 3.12 */
	uint16_t thread_id, thread_frame;
	uint16_t entry_frame, entry_previous; /* _PyCFrame */
	uint16_t frame_code, frame_previous, frame_place, frame_is_entry, frame_owner, frame_bytes;
	uint16_t code_file, code_name, code_lines, code_first_line, code_version, code_start,
	    code_bytes;
	uint16_t text_length, text_hash, text_state, text_ascii, text_wide;
	uint16_t bytes_length, bytes_data;
	uint16_t object_type;
};

#endif
