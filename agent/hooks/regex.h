/* regex.h: POSIX basic regular expressions, for TARGET_LIB_FILTER.
 *
 * libc's take memory from malloc, which the agent may be inside of. With GNU's \+ \? and \|,
 * without back references and collating names. Time is linear in the text. No allocation; a program
 * is read-only once made.
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

/* Makes a program of PATTERN. -EINVAL: it is none, or asks for what is not there; -E2BIG. */
int hk_regex_make(const char *pattern, struct hk_regex *regex);

/* Whether a part of TEXT matches. */
bool hk_regex_search(const struct hk_regex *regex, const char *text);

#endif
