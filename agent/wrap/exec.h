/* exec.h: notices programs that are started without the agent.
 *
 * Wraps exec*, posix_spawn*, system and popen. What is started is not changed: a program whose
 * LD_PRELOAD was taken away, that is static or has more rights runs as it would, and is named in
 * the segment (record/bare.h).
 */
#ifndef HK_AGENT_WRAP_EXEC_H
#define HK_AGENT_WRAP_EXEC_H

#include <stdbool.h>

/* Sets the wrappers, after hk_dl_start. If ENVIRONMENT's LD_PRELOAD does not name the agent, it was
 * loaded in another way, and nothing is noticed. */
void hk_exec_start(char *const *environment);

/* Whether VARIABLE of ENVIRONMENT names the agent, in whatever directory. */
bool hk_exec_names_agent(char *const *environment, const char *variable);

#endif
