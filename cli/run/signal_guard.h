/* signal_guard.h: holds signals that would end hookcli back while it makes files that must be
 * complete. Main thread only. */
#ifndef HK_CLI_RUN_SIGNAL_GUARD_H
#define HK_CLI_RUN_SIGNAL_GUARD_H

#include <signal.h>
#include <stdbool.h>

struct hk_signal_guard {
	sigset_t before, held;
};

/* From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT wait, unless they are ignored or blocked. */
void hk_signal_guard_begin(struct hk_signal_guard *hold);

/* Returns whether a signal waits: it will end hookcli in hk_signal_guard_end. */
bool hk_signal_guard_caught(const struct hk_signal_guard *hold);

/* Lets the signals act. */
void hk_signal_guard_end(const struct hk_signal_guard *hold);

/* From here on a write beyond ulimit -f is an error of that write, not SIGXFSZ. */
void hk_signal_guard_size_begin(void);

/* Restores the action of SIGXFSZ for a command that is about to be executed. Async-signal-safe. */
void hk_signal_guard_size_end(void);

#endif
