/* escape.h: a stream whose JSON may stand inside a script element: '<' is written as \u003c, so
 * that no name can end the element. In JSON '<' occurs in strings only, where both mean the same.
 */
#ifndef HK_CLI_HTML_ESCAPE_H
#define HK_CLI_HTML_ESCAPE_H

#include <stdio.h>

/* Opens a stream into OUTPUT, which must outlive it. fclose flushes the stream and leaves OUTPUT
 * open. Returns NULL without memory. */
FILE *hk_html_escape_open(FILE *output);

#endif
