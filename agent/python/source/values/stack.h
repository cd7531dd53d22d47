/* stack.h: the Python stack of this thread, by its number in the dump. Needs the GIL, leaves no
 * exception. */
#ifndef HK_VALUES_STACK_H
#define HK_VALUES_STACK_H

#include <stdint.h>

/* The number that the dump has for the frames that are open, innermost first; HK_DUMP_NONE without
 * a frame. Equal stacks are asked once. */
uint32_t hk_stack_here(void);

/* Another dump begins: numbers are those of its writer. */
void hk_stack_reset(void);

#endif
