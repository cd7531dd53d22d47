/* key_file.h: files of tokens, keys and certificates. Thread-safe. */
#ifndef HK_WIRE_KEY_FILE_H
#define HK_WIRE_KEY_FILE_H

#include <limits.h>
#include <stdbool.h>

#define HK_ACCESS_PROBLEM_BYTES (PATH_MAX + 128)

/* Reads all of FILE; the caller frees *RET_TEXT, which ends with a NUL. SECRET: refuse a file that
 * others may read. Returns 0, or a negative errno with the reason in PROBLEM. */
int hk_key_file_read(const char *file, bool secret, char **ret_text,
		     char problem[HK_ACCESS_PROBLEM_BYTES]);

/* Writes "FILE: WHAT" to PROBLEM and returns ERROR. */
int hk_key_file_complain(char problem[HK_ACCESS_PROBLEM_BYTES], int error, const char *file,
			 const char *what);

#endif
