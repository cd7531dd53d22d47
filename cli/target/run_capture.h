/* run_capture.h: runs another program and keeps the start of its output. One caller at a time: it
 * waits for its child. */
#ifndef HK_CLI_TARGET_RUN_CAPTURE_H
#define HK_CLI_TARGET_RUN_CAPTURE_H

#include <stddef.h>

/* Runs ARGUMENTS (searched in PATH, ended by NULL) with ENVIRONMENT, stdin empty, and puts the
 * start of its stdout and stderr into TEXT of SIZE bytes, NUL-terminated. Returns its exit status,
 * 128+n for a signal, -ETIMEDOUT if it was killed after TIMEOUT_MS, -ENOENT if there is no such
 * program, or another -errno. */
int hk_capture(const char *const *arguments, char *const *environment, int timeout_ms, char *text,
	       size_t size);

#endif
