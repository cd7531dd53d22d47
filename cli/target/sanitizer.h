/* sanitizer.h: lets programs that are built with AddressSanitizer run under the agent. Its runtime
 * ends a program if another library was loaded before it, as every preloaded library is. Preloading
 * the runtime first would put it into every program that this one starts too, and into the
 * launcher: python, gcc, perl and mpirun then exit with 1 because of leaks of their own. So an
 * option turns the runtime's check off. That is safe, because the agent defines no function that
 * the runtime replaces, and libc still comes after it. No state. */
#ifndef HK_CLI_TARGET_SANITIZER_H
#define HK_CLI_TARGET_SANITIZER_H

#define HK_SANITIZER_VARIABLE "ASAN_OPTIONS"

/* Returns the value of that variable that lets the agent be loaded first: the user's `options`, or
 * NULL, and then hooktrace's. The caller frees it. Returns NULL without memory. */
char *hk_sanitizer_options(const char *options);

#endif
