/* names.h: the words of the hooks language and their numbers, one table each.
 *
 * The parser, the agent's rules and the tools' printed output read the same tables, so a word has
 * one spelling. Constant data, no state, usable from any thread and inside the agent.
 */
#ifndef HK_HOOKS_NAMES_H
#define HK_HOOKS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define HK_NAMES_SIZE 16u /* bytes of the longest word with its NUL */

/* `names[i]` is the word of value i; an empty word has no spelling. Rows, not pointers: the agent
 * pays no relocation. */
struct hk_names {
	const char (*names)[HK_NAMES_SIZE];
	unsigned count;
};

extern const struct hk_names hk_names_level;   /* enum hk_level */
extern const struct hk_names hk_names_type;    /* enum hk_hook_type */
extern const struct hk_names hk_names_key;     /* enum hk_key */
extern const struct hk_names hk_names_meaning; /* enum hk_meaning */
extern const struct hk_names hk_names_error;   /* enum hk_error_rule */
extern const struct hk_names hk_names_memory;  /* enum hk_memory */
extern const struct hk_names hk_names_runtime; /* enum hk_runtime */

/* Value of the word of `length` bytes at `text`, or -EINVAL. */
int hk_names_find(const struct hk_names *table, const char *text, size_t length);

/* Word of `value`, or "?" for a number that has none; static. */
const char *hk_names_get(const struct hk_names *table, unsigned value);

/* enum hk_level of "off", "count", "sample", "time", "record", "record+args", "record+stack",
 * "default"; or -EINVAL. "record+stack:100/s" sets *ret_stack_rate to 100, all others to 0. */
#define HK_STACK_RATE_MAX 1000000u
int hk_level_read(const char *text, size_t length, uint32_t *ret_stack_rate);
int hk_level_parse(const char *text, uint32_t *ret_stack_rate);

/* Word of an enum hk_level, "?" if out of range; static. */
const char *hk_level_name(unsigned level);

/* The text that hk_level_parse reads: static, or at the end of TEXT. */
#define HK_LEVEL_BYTES 32u
const char *hk_level_print(unsigned level, uint32_t stack_rate, char text[HK_LEVEL_BYTES]);

/* Word of an enum hk_key, "?" if out of range; static. */
const char *hk_key_name(unsigned key);

#endif
