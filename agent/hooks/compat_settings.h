/* compat_settings.h: the variables of cuda_mock, which act under HOOK_COMPAT=1 only.
 *
 *     HOOK_ENABLE_TRACE   symbol=MASK,...; of its calls print, for bit 0, from where they were
 *                         made, and for bit 1 (0b10) their arguments
 *     LOG_LEVEL           LEVEL,MODULE=LEVEL,...; PROFILE=INFO prints each call's time, MEMORY=INFO
 *                         each allocation
 *     LOG_OUTPUT_PATH     directory of a log file; without it lines go to standard output
 *     LOG_SYNC_MODE       1: to standard output too when there is a file
 *     TARGET_LIB_FILTER   POSIX basic regular expression that the calling library's path must match
 *
 * Read once at start, read-only afterwards. No allocation.
 */
#ifndef HK_AGENT_HOOKS_COMPAT_SETTINGS_H
#define HK_AGENT_HOOKS_COMPAT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/hooks/regex.h"

#define HK_COMPAT_TRACES 64u
#define HK_COMPAT_CALLERS 1u /* bits of HOOK_ENABLE_TRACE */
#define HK_COMPAT_ARGUMENTS 2u

enum hk_compat_level { HK_COMPAT_INFO, HK_COMPAT_WARN, HK_COMPAT_ERROR, HK_COMPAT_FATAL };

enum hk_compat_module {
	HK_COMPAT_PROFILE,
	HK_COMPAT_TRACE,
	HK_COMPAT_HOOK,
	HK_COMPAT_PYTHON,
	HK_COMPAT_MEMORY,
	HK_COMPAT_DEBUG,
	HK_COMPAT_LAST,
	HK_COMPAT_MODULES,
};

struct hk_compat_settings {
	bool on;			  /* HOOK_COMPAT=1 */
	bool sync;			  /* LOG_SYNC_MODE=1 */
	bool filtered;			  /* `filter` holds */
	uint8_t level[HK_COMPAT_MODULES]; /* enum hk_compat_level: lower lines are not printed */
	uint32_t trace_count;
	struct {
		char symbol[96];
		uint32_t mask;
	} traces[HK_COMPAT_TRACES];
	const char *directory; /* LOG_OUTPUT_PATH, NULL: none; the environment's */
	struct hk_regex filter;
};

/* Reads ENVIRONMENT. Returns 0, or -EINVAL if TARGET_LIB_FILTER is no regular expression: then all
 * libraries match. */
int hk_compat_read(char *const *environment, struct hk_compat_settings *settings);

/* Mask of HOOK_ENABLE_TRACE for SYMBOL, 0: none. */
uint32_t hk_compat_trace(const struct hk_compat_settings *settings, const char *symbol);

#endif
