/* vectors.h: lets the compiler use the widest vectors that the processor has.
 *
 * For functions that are loops without a branch inside, in files compiled with -O3: the compiler
 * makes a copy of the function for each generation of processors, and the loader picks one. Not for
 * what runs inside traced processes.
 */
#ifndef HK_BASE_VECTORS_H
#define HK_BASE_VECTORS_H

/* A sanitizer's run time is not there yet when the loader picks, and other and older compilers may
 * not know these names. */
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HK_WIDEST_VECTORS \
	__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HK_WIDEST_VECTORS
#endif

#endif
