/* backtrace.h: prints from where a call was made, as cuda_mock does: bit 0 of HOOK_ENABLE_TRACE.
 *
 * Names are those that an object exports; frames without one have no line, so numbers have gaps.
 * Names of C++ are demangled where the program's C++ library may allocate: not in a signal handler,
 * and not in calls of the C library or of the heap.
 */
#ifndef HK_AGENT_COMPAT_BACKTRACE_H
#define HK_AGENT_COMPAT_BACKTRACE_H

#include "agent/frame/call.h"

/* Writes "    frame #NN PATH:NAME" for each frame of the function that made CALL, which returned,
 * innermost first. Returns the number of lines. */
uint32_t hk_backtrace_print(const struct hk_call *call);

/* Writes "    FILE(LINE): NAME" for each Python frame of the calling thread, innermost first.
 * Returns the number of lines. */
uint32_t hk_backtrace_print_python(void);

#endif
