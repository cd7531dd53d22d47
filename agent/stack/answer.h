/* answer.h: a thread's stack, on request of the collector.
 *
 * The agent has a handler for SIGURG as long as the program has none. The collector sends that
 * signal to a thread that it asks (ring/segment.h, struct hk_ask), and the handler writes the
 * thread's stack into the segment. SIGURG is ignored by default: sent to a process that has just
 * replaced its image, or that reset the signal, it does nothing, while most others would end it.
 *
 * The handler takes no lock, allocates nothing and leaves errno alone. So it may interrupt
 * anything: malloc, the loader, the agent. It runs with all signals blocked, on the thread's
 * alternate stack if there is one, and needs less than HK_ANSWER_BYTES of it. A stack that is too
 * small for the kernel's part ends the program: once the program has one, the handler uses none.
 */
#ifndef HK_AGENT_STACK_ANSWER_H
#define HK_AGENT_STACK_ANSWER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define HK_ANSWER_SIGNAL SIGURG
#define HK_ANSWER_BYTES 512u /* of stack, but for what the kernel saves */

/* Installs the handler, unless the program was started with the signal ignored. */
void hk_answer_start(void);

/* The same in a program that runs already, whose threads may have alternate stacks of any size. */
void hk_answer_start_late(void);

/* Gives the signal back. A handler that was started answers, or finds that it need not. */
void hk_answer_stop(void);

/* The program takes the signal over, or gave it back. Not in a vfork child. */
void hk_answer_yield(void);
void hk_answer_resume(void);

/* The program is about to give a thread the alternate stack STACK. */
void hk_answer_note_stack(const stack_t *stack);

/* The agent makes no system call from here on. */
void hk_answer_seal(void);

/* Whether the handler is the one in force, as far as the agent knows. */
bool hk_answer_is_installed(void);

/* Writes what is known of the signal to a new segment, of a forked child. */
void hk_answer_publish(void);

/* Part of the handler: writes the stack of the calling thread to ASK, which is request NUMBER. WALK
 * has its native frames. Returns false if there are no Python frames to write. ASK says why if the
 * thread has some. */
struct hk_thread_walk;
struct hk_ask;
bool hk_answer_python(uint32_t number, const struct hk_thread_walk *walk, struct hk_ask *ask);

#endif
