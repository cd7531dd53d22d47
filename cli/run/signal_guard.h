/* signal_guard.h: signals that would end hookcli, held back while what it makes is half made. Main
 * thread only.
 */
#ifndef HK_CLI_RUN_SIGNAL_GUARD_H
#define HK_CLI_RUN_SIGNAL_GUARD_H

#include <signal.h>
#include <stdbool.h>

struct hk_signal_guard {
	sigset_t before, held;
};

/* From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT wait, unless they are ignored or blocked. */
void hk_signal_guard_begin(struct hk_signal_guard *hold);

/* Whether one waits: hookcli will not go on after hk_signal_guard_end. */
bool hk_signal_guard_caught(const struct hk_signal_guard *hold);

/* Lets them act. */
void hk_signal_guard_end(const struct hk_signal_guard *hold);

/* From here on a write beyond ulimit -f is an error of that write, not SIGXFSZ. */
void hk_signal_guard_size_begin(void);

/* What SIGXFSZ did before, for a command that is about to be executed; async-signal-safe. */
void hk_signal_guard_size_end(void);

#endif
