/* program.h: which file this process's program is. Read once, at the start. */
#ifndef HK_AGENT_OBJECT_PROGRAM_H
#define HK_AGENT_OBJECT_PROGRAM_H

#include "agent/object/object.h"

/* Finds out the path of the program. Once, at start. */
void hk_program_find(void);

/* The path by which the program was started; the kernel's, which follows links, where the name in
 * both is the same. Of a program that the loader runs, as in `ld.so ./program`, its own and not the
 * loader's. Empty before hk_program_find, or if the path is not known. */
const char *hk_program_path(void);

/* The path of OBJECT: the program's where the loader has none. */
const char *hk_program_path_of(const struct hk_object *object);

#endif
