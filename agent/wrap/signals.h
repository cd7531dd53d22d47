/* signals.h: wrappers of sigaction, signal and sigaltstack, for the one signal that the agent uses
 * (stack/answer.h).
 *
 * The program sees its own handler, or the default. Once it sets one, or ignores the signal, the
 * agent's handler yields, and it comes back with the default. The handler keeps off alternate
 * stacks once one is too small for it.
 */
#ifndef HK_AGENT_WRAP_SIGNALS_H
#define HK_AGENT_WRAP_SIGNALS_H

#include <signal.h>

int hk_signals_set_action(int signal, const struct sigaction *action, struct sigaction *old);
sighandler_t hk_signals_set(int signal, sighandler_t handler);
int hk_signals_set_stack(const stack_t *stack, stack_t *old);

#endif
