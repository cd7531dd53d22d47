/* python_code.h: what code objects say of themselves: names, files, lines.
 *
 * Read when a stack is seen for the first time. Texts are encoded from CPython's own form.
 */
#ifndef HK_AGENT_STACK_PYTHON_CODE_H
#define HK_AGENT_STACK_PYTHON_CODE_H

#include "agent/stack/interpreter.h"
#include "agent/stack/python.h"

#define HK_PYTHON_TEXT_BYTES 1024u

/* Writes the file, or the qualified name (before 3.11 the name), of CODE to TEXT in UTF-8. A longer
 * one is cut. Returns false if it is no text. CODE is a code object that was read with CARE. */
bool hk_python_code_file(const struct hk_interpreter *interpreter, uint64_t code,
			 char text[HK_PYTHON_TEXT_BYTES], enum hk_python_care care);
bool hk_python_code_name(const struct hk_interpreter *interpreter, uint64_t code,
			 char text[HK_PYTHON_TEXT_BYTES], enum hk_python_care care);

uint32_t hk_python_code_first_line(const struct hk_interpreter *interpreter, uint64_t code);

/* Returns the line of the instruction at PLACE (python.h) of CODE, or 0. */
uint32_t hk_python_code_line(const struct hk_interpreter *interpreter, uint64_t code, int64_t place,
			     enum hk_python_care care);

#endif
