/* program.h: which file this process's program is. Read once, at the start. */
#ifndef HK_AGENT_OBJECT_PROGRAM_H
#define HK_AGENT_OBJECT_PROGRAM_H

#include <limits.h>

/* The path by which the program was started; the kernel's, which follows links, where the name in
 * both is the same. Of a program that the loader was told to run, as in `ld.so
 * ./program`, its own and not the loader's. Empty: not to be had. */
void hk_program_path(char path[PATH_MAX]);

#endif
