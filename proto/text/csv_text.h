/* csv_text.h: texts from traced processes as fields of comma-separated values (RFC 4180). No state.
 */
#ifndef HK_TEXT_CSV_TEXT_H
#define HK_TEXT_CSV_TEXT_H

#include <stdio.h>

/* Writes TEXT as one quoted field, without a comma. Invalid UTF-8, and control characters but
 * newlines, become U+FFFD. A text that a spreadsheet would take for a formula (it begins with one
 * of =+-@) gets an apostrophe before it. Errors stay in the FILE. */
void hk_csv_text(FILE *output, const char *text);

#endif
