/* program.h: which file this process's program is. Read once, at the start. */
#ifndef HK_AGENT_OBJECT_PROGRAM_H
#define HK_AGENT_OBJECT_PROGRAM_H

#include "agent/object/object.h"

/* Finds out the path of the program. Once, at start. */
void hk_program_find(void);

/* The path of the program: the one by which it was started, or the kernel's, which follows links,
 * if both end in the same name. For a program that the loader runs, as in `ld.so ./program`, it is
 * the program's and not the loader's. Empty before hk_program_find, or if it is unknown. */
const char *hk_program_path(void);

/* Returns the path of OBJECT, which is the program's if the loader has none. */
const char *hk_program_path_of(const struct hk_object *object);

#endif
