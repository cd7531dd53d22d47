/* python_text.h: values of JSON as Python prints them: True, None, 0.1, 1e-05. No state. */
#ifndef HK_CLI_COMPARE_FOREIGN_PYTHON_TEXT_H
#define HK_CLI_COMPARE_FOREIGN_PYTHON_TEXT_H

#include <jansson.h>
#include <stddef.h>

#define HK_PYTHON_NUMBER_BYTES 32

/* Writes VALUE (NULL: None) to TEXT, cut to SIZE > 0: strings without quotes, lists as JSON. */
void hk_python_text(char *text, size_t size, const json_t *value);

/* Writes NUMBER as Python's repr does: the fewest digits that give it back. */
const char *hk_python_number(char text[HK_PYTHON_NUMBER_BYTES], double number);

#endif
