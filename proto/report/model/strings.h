/* strings.h: keeps one copy of each text, so that rows share names and compare them by address.
 *
 * Zero-initialise a struct hk_report_strings before use. All texts live until its fini. Locked by
 * the caller.
 */
#ifndef HK_REPORT_MODEL_STRINGS_H
#define HK_REPORT_MODEL_STRINGS_H

#include <stdint.h>

struct hk_report_string;

struct hk_report_strings {
	struct hk_report_string *table;
};

/* Returns the shared copy of `text` (NULL counts as empty), or NULL if out of memory. */
const char *hk_report_strings_get(struct hk_report_strings *strings, const char *text);

/* Returns the number of `text` in order of first appearance, from 0, or -ENOMEM. */
int64_t hk_report_strings_ordinal(struct hk_report_strings *strings, const char *text);

void hk_report_strings_fini(struct hk_report_strings *strings);

#endif
