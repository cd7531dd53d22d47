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
	/* An outer `hookcli run` has set the flag already. */
	if (length >= ours && strcmp(options + length - ours, NO_ORDER) == 0) {
		return strdup(options);
	}
	/* The runtime uses the last value of a flag that is set twice. */
	return asprintf(&result, "%s:" NO_ORDER, options) < 0 ? NULL : result;
}
