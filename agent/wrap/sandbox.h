/* sandbox.h: keeps the agent within programs that forbid themselves system calls, or the
 * processor's clock.
 *
 * A filter may kill for system calls that it does not list, and cannot be asked for its list. So
 * after the host installs one, the agent makes no system call: it counts and records calls in the
 * room that it has, tracks no new threads and looks at no new objects. If the clock is forbidden
 * too, calls last 0 ns. Under a filter that was there at exec, as in containers, a child process
 * finds out which system calls are killed.
 */
#ifndef HK_AGENT_WRAP_SANDBOX_H
#define HK_AGENT_WRAP_SANDBOX_H

#include <stdbool.h>

/* Returns false if the image began under a filter that kills, or may kill, for system calls that
 * the agent needs. At start, before any other system call. */
bool hk_sandbox_permits(void);

/* The host is about to call prctl(OPTION, ARGUMENT). */
void hk_sandbox_prctl(int option, unsigned long argument);

/* Called before the host makes system call NUMBER with these two first arguments. */
void hk_sandbox_syscall(long number, unsigned long a, unsigned long b);

#endif
