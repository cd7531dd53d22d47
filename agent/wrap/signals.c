#include "agent/wrap/signals.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/patch/wrapped.h"
#include "agent/record/process.h"
#include "agent/stack/answer.h"
#include "ring/kernel.h"

/* A child of fork or vfork has handlers of its own. That of vfork shares the agent's memory. */
static bool is_own_process(void)
{
	return !hk_process.sealed && hk_process.on && !hk_process_forked() &&
	       hk_process.writer.header->pid == (uint32_t)hk_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* The program has set HANDLER. */
static void follow(sighandler_t handler)
{
	if (!is_own_process()) {
		return;
	}
	if (handler == SIG_DFL) {
		hk_answer_resume();
	} else {
		hk_answer_yield();
	}
}

int hk_signals_set_action(int signal, const struct sigaction *action, struct sigaction *old)
{
	int (*original)(int, const struct sigaction *, struct sigaction *) =
	    (int (*)(int, const struct sigaction *, struct sigaction *))atomic_load(
		&hk_wrapped_originals[HK_WRAPPED_SIGACTION]);
	bool hides = signal == HK_ANSWER_SIGNAL && hk_answer_is_installed();
	/* What ACTION points to may be what OLD points to. */
	sighandler_t handler = action ? action->sa_handler : SIG_DFL;
	bool keeps = hides && (!action || handler == SIG_DFL);
	int status = original(signal, keeps ? NULL : action, old);

	if (status == 0 && hides && old) {
		*old = (struct sigaction){.sa_handler = SIG_DFL};
	}
	if (status == 0 && signal == HK_ANSWER_SIGNAL && action && !keeps) {
		follow(handler);
	}
	return status;
}

sighandler_t hk_signals_set(int signal, sighandler_t handler)
{
	sighandler_t (*original)(int, sighandler_t) = (sighandler_t(*)(
	    int, sighandler_t))atomic_load(&hk_wrapped_originals[HK_WRAPPED_SIGNAL]);
	bool hides = signal == HK_ANSWER_SIGNAL && hk_answer_is_installed();

	if (hides && handler == SIG_DFL) {
		return SIG_DFL;
	}
	sighandler_t old = original(signal, handler);
	if (old != SIG_ERR && signal == HK_ANSWER_SIGNAL) {
		follow(handler);
	}
	return hides && old != SIG_ERR ? SIG_DFL : old;
}

int hk_signals_set_stack(const stack_t *stack, stack_t *old)
{
	int (*original)(const stack_t *, stack_t *) = (int (*)(
	    const stack_t *, stack_t *))atomic_load(&hk_wrapped_originals[HK_WRAPPED_SIGALTSTACK]);

	if (stack && is_own_process()) {
		hk_answer_note_stack(stack);
	}
	return original(stack, old);
}
