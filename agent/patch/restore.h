/* restore.h: gives slots back what they would hold without the agent.
 *
 * Slots of all kinds are restored, also those whose address the program may have compared: tracing
 * has ended. Pointers that were handed out to the program cannot be found. They stay valid, and
 * their thunks and wrappers call the functions. Under the loader's lock.
 */
#ifndef HK_AGENT_PATCH_RESTORE_H
#define HK_AGENT_PATCH_RESTORE_H

#include "agent/object/loaded.h"

/* Restores the slots of all objects of LOADED. A slot that another patcher wrote to meanwhile is
 * left alone. */
void hk_restore_slots(const struct hk_loaded *loaded);

#endif
