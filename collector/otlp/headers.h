/* headers.h: the file of --otlp-headers: lines "NAME: VALUE", which requests carry. A file keeps
 * tokens out of the list of processes. No state. */
#ifndef HK_COLLECTOR_OTLP_HEADERS_H
#define HK_COLLECTOR_OTLP_HEADERS_H

#include "wire/key_file.h"

/* Reads FILE, which others must not be able to read. Empty lines and those that begin with # are
 * skipped. *RET_TEXT: the lines as HTTP has them; the caller wipes and frees it. Returns 0, or
 * -errno with the reason in PROBLEM, which never holds a value. */
int hk_otlp_headers_read(const char *file, char **ret_text, char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
