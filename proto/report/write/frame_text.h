/* frame_text.h: functions on stacks as people read them. No state.
 */
#ifndef HK_REPORT_WRITE_FRAME_TEXT_H
#define HK_REPORT_WRITE_FRAME_TEXT_H

#include <stddef.h>

#include "report/model/stacks.h"

/* Writes the name of FUNCTION, which FRAME has, to TEXT: demangled, of Python with file and line,
 * or the frame's object and address if the function is not known. */
void hk_frame_text_name(const struct hk_stacks_frame *frame,
			const struct hk_stacks_function *function, char *text, size_t size);

/* Writes where FUNCTION is: " (file:line)", " (library)", or nothing if the name says that. */
void hk_frame_text_place(const struct hk_stacks_frame *frame,
			 const struct hk_stacks_function *function, char *text, size_t size);

/* Writes why no further frame is known: FRAME's object is HK_STACKS_OBJECT_END. */
void hk_frame_text_end(const struct hk_stacks_frame *frame, char *text, size_t size);

#endif
