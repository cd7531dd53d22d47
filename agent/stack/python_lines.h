/* python_lines.h: which line of a Python function an instruction belongs to, by the table in its
 * code object. Pure; the table may hold anything.
 */
#ifndef HK_AGENT_STACK_PYTHON_LINES_H
#define HK_AGENT_STACK_PYTHON_LINES_H

#include <stdint.h>

/* Returns the line of the instruction at PLACE, in bytes, of a function that begins at FIRST_LINE;
 * 0: it has none. A negative PLACE is before the first instruction. TABLE, of BYTES, is
 * `co_lnotab` (3.8, 3.9) or `co_linetable` of VERSION (0x030c: 3.12). */
uint32_t hk_python_line(uint16_t version, const uint8_t *table, uint64_t bytes, uint32_t first_line,
			int64_t place);

#endif
