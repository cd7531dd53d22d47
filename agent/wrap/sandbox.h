/* sandbox.h: programs that forbid themselves system calls, or the processor's clock.
 *
 * A filter may kill for what it does not list, and nobody can ask it. So from the moment the host
 * installs one, the agent asks the kernel for nothing: calls are counted and recorded in the room
 * it has, threads that come later are not tracked, new objects are not looked at. Where the clock
 * is forbidden too, calls last 0 ns. Under a filter that was there at exec, as containers have one,
 * a child finds out what is killed for.
 */
#ifndef HK_AGENT_WRAP_SANDBOX_H
#define HK_AGENT_WRAP_SANDBOX_H

#include <stdbool.h>

/* False: the image began under a filter that kills for something the agent needs, or may do so. At
 * start, before anything else is asked of the kernel. */
bool hk_sandbox_permits(void);

/* The host is about to call prctl(OPTION, ARGUMENT). */
void hk_sandbox_prctl(int option, unsigned long argument);

/* The host is about to make system call NUMBER with these two first arguments. */
void hk_sandbox_syscall(long number, unsigned long a, unsigned long b);

#endif
