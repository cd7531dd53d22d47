/* callers.h: a function that knows from where it is called; callers.cc calls it from C++. */
#ifndef HK_TESTS_CALLERS_H
#define HK_TESTS_CALLERS_H

#pragma GCC visibility push(default)

/* Writes the functions that are open to standard error. BEHIND_SIGNAL: the number of the frame that
 * a signal interrupted, -1: none. Names of C++ are DEMANGLED, or as the file spells them. Returns
 * the number of frames. */
extern "C" int callers_note(int behind_signal, int demangled);

#pragma GCC visibility pop

#endif
