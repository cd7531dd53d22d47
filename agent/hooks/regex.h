/* regex.h: POSIX basic regular expressions, for TARGET_LIB_FILTER.
 *
 * libc's regular expressions call malloc, inside of which the agent may run. These have GNU's \+ \?
 * and \|, but no back references or collating names. The time is linear in the text. No allocation;
 * a program is constant once made.
 */
#ifndef HK_AGENT_HOOKS_REGEX_H
#define HK_AGENT_HOOKS_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#define HK_REGEX_STEPS 512u
#define HK_REGEX_SETS 24u

struct hk_regex {
	uint32_t count, set_count;
	struct {
		uint8_t kind;
		uint8_t byte;	  /* or number of a set */
		uint16_t to, or ; /* where to go on */
	} steps[HK_REGEX_STEPS];
	uint32_t sets[HK_REGEX_SETS][8]; /* a bit for each byte */
};

/* Makes a program of PATTERN. Returns 0, -EINVAL if PATTERN is invalid or unsupported, or -E2BIG.
 */
int hk_regex_make(const char *pattern, struct hk_regex *regex);

/* Whether a part of TEXT matches. */
bool hk_regex_search(const struct hk_regex *regex, const char *text);

#endif
