/* checks.h: the checks of `hookcli doctor` for this machine: one table of independent checks. They
 * change nothing, but make the run directory if there is none. One thread. */
#ifndef HK_CLI_TARGET_CHECKS_H
#define HK_CLI_TARGET_CHECKS_H

#include <stddef.h>

enum hk_check_state {
	HK_CHECK_OK = 0,
	HK_CHECK_NOTE = 1,    /* no problem, but worth knowing */
	HK_CHECK_WARNING = 2, /* works at a cost */
	HK_CHECK_FAILED = 3,  /* tracing will not work */
};

struct hk_check_result {
	enum hk_check_state state;
	char detail[512];
	char fix[256]; /* the fix; empty: none needed */
};

struct hk_check {
	const char *name;
	void (*check)(struct hk_check_result *result);
};

extern const struct hk_check hk_checks[];
extern const size_t hk_check_count;

/* "ok", "note", "warning", "failed". */
const char *hk_check_word(enum hk_check_state state);

#endif
