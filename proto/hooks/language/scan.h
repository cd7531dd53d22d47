/* scan.h: the text of a hooks file as logical lines and words.
 *
 * A logical line runs over physical lines that end in a backslash and stops at `#`. Words point
 * into the text; nothing is copied, nothing is NUL-terminated, and every step is bounded by the
 * text's end. Values only, one thread.
 */
#ifndef HK_HOOKS_LANGUAGE_SCAN_H
#define HK_HOOKS_LANGUAGE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hk_word {
	const char *text;
	size_t length;
};

/* One logical line while it becomes a hook. `problem` says why it cannot. */
struct hk_scan {
	const char *at;
	const char *end;
	const char *problem;	/* NULL: no problem yet; static text */
	struct hk_word subject; /* the word that the problem is about; length 0: no single word */
};

/* Where a reader stands in the text. */
struct hk_lines {
	const char *at;
	const char *end;
	uint32_t next; /* number of the physical line at `at`, from 1 */
};

/* Takes the next logical line and the number of its first physical line; false at the end of the
 * text. */
bool hk_lines_next(struct hk_lines *lines, struct hk_scan *ret_line, uint32_t *ret_number);

/* Whether nothing but blanks is left. */
bool hk_scan_done(struct hk_scan *scan);

/* Takes a run of letters, digits and underscores; length 0 when the next byte is another. */
struct hk_word hk_scan_name(struct hk_scan *scan);

/* Takes a run of printable bytes without blanks, parentheses, commas and `=`: a pattern, a level, a
 * suffix. */
struct hk_word hk_scan_glob(struct hk_scan *scan);

/* Takes `wanted` if it is the next byte that is not blank. */
bool hk_scan_take(struct hk_scan *scan, char wanted);

/* Notes the first problem of the line and returns -EINVAL. */
int hk_scan_fail(struct hk_scan *scan, const char *problem, struct hk_word subject);

/* The word that is all of `text`, which must outlive it. */
struct hk_word hk_word_of(const char *text);

/* Whether two words have the same bytes. */
bool hk_word_equal(struct hk_word a, struct hk_word b);

/* Whether `word` is exactly `text`. */
bool hk_word_is(struct hk_word word, const char *text);

#endif
