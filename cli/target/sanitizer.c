#include "cli/target/sanitizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_ORDER "verify_asan_link_order=0"

char *hk_sanitizer_options(const char *options)
{
	size_t length = options ? strlen(options) : 0, ours = strlen(NO_ORDER);
	char *result;

	if (length == 0) {
		return strdup(NO_ORDER);
	}
	/* A run inside a run finds it there. */
	if (length >= ours && strcmp(options + length - ours, NO_ORDER) == 0) {
		return strdup(options);
	}
	/* Of two values of a flag the last one counts. */
	return asprintf(&result, "%s:" NO_ORDER, options) < 0 ? NULL : result;
}
