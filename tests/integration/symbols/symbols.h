/* symbols.h: what the parts of the test program call.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Of the library: the function that is hooked. */
__attribute__((visibility("default"))) int symbols_called(int value);

/* Calls it through inlined functions of C. */
int steps(int value);

#ifdef __cplusplus
}
#endif

#endif
