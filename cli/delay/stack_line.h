/* stack_line.h: a stack in one line. No state. */
#ifndef HK_CLI_DELAY_STACK_LINE_H
#define HK_CLI_DELAY_STACK_LINE_H

#include <stdbool.h>

#include "schema/wire.pb-c.h"

#define HK_STACK_LINE_BYTES 1024

/* Writes the functions of STACK of PROCESS, innermost first: "load (data.c:88) <- main (a.c:3)". A
 * long stack is cut. Returns false without a stack. */
bool hk_stack_line(const Hk__Process *process, uint32_t stack, char line[HK_STACK_LINE_BYTES]);

#endif
