#include "cli/run/signal_guard.h"

#include <stddef.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

void hk_signal_guard_begin(struct hk_signal_guard *hold)
{
	sigprocmask(SIG_BLOCK, NULL, &hold->before);
	sigemptyset(&hold->held);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		struct sigaction action;
		/* An ignored signal, once blocked, would be pending too, but would end nothing. */
		if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
		    !sigismember(&hold->before, ending[i])) {
			sigaddset(&hold->held, ending[i]);
		}
	}
	sigprocmask(SIG_BLOCK, &hold->held, NULL);
}

bool hk_signal_guard_caught(const struct hk_signal_guard *hold)
{
	sigset_t waiting;

	sigpending(&waiting);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		if (sigismember(&waiting, ending[i]) && sigismember(&hold->held, ending[i])) {
			return true;
		}
	}
	return false;
}

void hk_signal_guard_end(const struct hk_signal_guard *hold)
{
	sigprocmask(SIG_SETMASK, &hold->before, NULL);
}

static struct sigaction size_before;
static bool size_held;

void hk_signal_guard_size_begin(void)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	size_held = sigaction(SIGXFSZ, &ignore, &size_before) == 0;
}

void hk_signal_guard_size_end(void)
{
	if (size_held) {
		sigaction(SIGXFSZ, &size_before, NULL);
	}
}
