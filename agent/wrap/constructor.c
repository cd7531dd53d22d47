/* A library's constructors run inside the dlopen that brought it, before that call returns and its
 * slots are patched. What comes just before them is its _init, which linkers take from the C
 * library's start files, and which calls __gmon_start__ if that is defined. Only a program built
 * for gprof defines it, to start its profile. The agent defines it and scans: by then all libraries
 * of that dlopen are relocated. Those of a program built for gprof, and libraries linked without
 * start files, are patched when the dlopen returns. */
#include <errno.h>

#include "agent/patch/patch.h"

void __gmon_start__(void);

__attribute__((visibility("default"))) void __gmon_start__(void)
{
	int error = errno;

	hk_patch_rescan();
	errno = error;
}
