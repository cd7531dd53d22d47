/* json_text.h: JSON as Python's json module writes it, with NaN, Infinity and integers of any size,
 * which RFC 8259 does not have. Such numbers become strings. No state. */
#ifndef HK_CLI_COMPARE_FOREIGN_JSON_TEXT_H
#define HK_CLI_COMPARE_FOREIGN_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/compare/array/array.h"

/* Quotes the numbers of TEXT that JSON has not. Returns a malloc'd text, NUL-terminated, of
 * *RET_LENGTH bytes, or NULL without memory. */
char *hk_json_text_quote(const void *text, size_t length, size_t *ret_length);

/* Parses TEXT, one value. Returns NULL with REASON. */
json_t *hk_json_text_parse(const void *text, size_t length, char reason[HK_ARRAY_REASON_BYTES]);

/* Parses the file PATH. Returns NULL with REASON. */
json_t *hk_json_text_load(const char *path, char reason[HK_ARRAY_REASON_BYTES]);

/* VALUE as a number, also if it is true, false or a string of a number; NaN for anything else. */
double hk_json_text_number(const json_t *value);

#endif
