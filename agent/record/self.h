/* self.h: facts of this process that the kernel tells. System calls only; any thread. */
#ifndef HK_AGENT_RECORD_SELF_H
#define HK_AGENT_RECORD_SELF_H

#include <stdint.h>

/* Returns field 22 of /proc/self/stat, which distinguishes users of one pid, or 0. */
uint64_t hk_self_start_time(void);

/* Returns the inode of the process's pid namespace, or 0. */
uint64_t hk_self_pid_namespace(void);

/* Returns the number in the line of /proc/self/status that begins with NAME, or 0 if there is none.
 */
uint64_t hk_self_status(const char *name);

/* Returns the decimal number that TEXT begins with, or 0. */
uint64_t hk_self_number(const char *text);

#endif
