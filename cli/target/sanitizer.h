/* sanitizer.h: programs built with AddressSanitizer. Its runtime, a library of the program's, ends
 * the program when another library was loaded before it, as every preloaded one is. Preloading the
 * runtime before the agent would satisfy it, but also put it into every program that this one
 * starts, and into the launcher that starts it: then python, gcc, perl and mpirun exit with 1
 * because of leaks of their own. So an option disables the runtime's check: the agent defines
 * nothing that the runtime replaces, and libc still comes after it. No state. */
#ifndef HK_CLI_TARGET_SANITIZER_H
#define HK_CLI_TARGET_SANITIZER_H

#define HK_SANITIZER_VARIABLE "ASAN_OPTIONS"

/* The value of that variable that lets the agent be loaded first; `options`: what the user has
 * there, kept before ours, or NULL. To be freed. NULL: no memory. */
char *hk_sanitizer_options(const char *options);

#endif
