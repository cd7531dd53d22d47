/* constant.h: functions that only return a number.
 *
 * Function i returns hk_constant_values[i] in the integer and the vector register for results of up
 * to eight bytes, and 0 in the second integer register.
 */
#ifndef HK_AGENT_PATCH_CONSTANT_H
#define HK_AGENT_PATCH_CONSTANT_H

#define HK_CONSTANTS 64
#define HK_CONSTANT_BYTES 32

#ifndef __ASSEMBLER__
#include <stdint.h>

extern const char hk_constant_functions[]; /* code */
extern uint64_t hk_constant_values[HK_CONSTANTS];
#endif

#endif
