/* demangle.h: names of functions as their source has them: C++ (Itanium ABI) and Rust.
 *
 * A name comes from a traced process and may be made to exhaust its reader: depth and length are
 * bounded. Long names take a thread of their own, for its stack. Thread-safe.
 */
#ifndef HK_TEXT_DEMANGLE_H
#define HK_TEXT_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define HK_DEMANGLE_NAME_BYTES 8192u /* longer names stay as they are */

/* Writes NAME to TEXT, demangled if it is a mangled name, cut to SIZE, which is not 0. Returns
 * whether it was mangled. */
bool hk_demangle(const char *name, char *text, size_t size);

/* As hk_demangle, without the function's parameters and result. */
bool hk_demangle_short(const char *name, char *text, size_t size);

#endif
