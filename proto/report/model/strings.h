/* strings.h: each different text once, so that rows share their names and compare them by address.
 *
 * Zero-initialise a struct hk_report_strings before use; all texts live until its fini. Locked by
 * the caller.
 */
#ifndef HK_REPORT_MODEL_STRINGS_H
#define HK_REPORT_MODEL_STRINGS_H

#include <stdint.h>

struct hk_report_string;

struct hk_report_strings {
	struct hk_report_string *table;
};

/* The one copy of `text` (NULL counts as empty), or NULL without memory. */
const char *hk_report_strings_get(struct hk_report_strings *strings, const char *text);

/* The number of `text` in order of first appearance, 0.., or -ENOMEM. */
int64_t hk_report_strings_ordinal(struct hk_report_strings *strings, const char *text);

void hk_report_strings_fini(struct hk_report_strings *strings);

#endif
