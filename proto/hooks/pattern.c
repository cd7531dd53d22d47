#include "hooks/pattern.h"

#include <errno.h>
#include <string.h>

bool hk_pattern_match(const char *glob, const char *text)
{
	const char *star = NULL;   /* the glob after the last star met */
	const char *resume = NULL; /* where that star's run would end if it took one byte more */

	/* Only the last star must be remembered: a longer run of an earlier star matches no further
	 * text. */
	while (*text != '\0') {
		if (*glob == '*') {
			star = ++glob;
			resume = text;
		} else if (*glob == '?' || *glob == *text) {
			glob++;
			text++;
		} else if (star != NULL) {
			glob = star;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*glob == '*') {
		glob++;
	}
	return *glob == '\0';
}

static bool has_wildcard(const char *glob)
{
	for (; *glob != '\0'; glob++) {
		if (*glob == '*' || *glob == '?') {
			return true;
		}
	}
	return false;
}

bool hk_pattern_match_library(const char *glob, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;

	if (hk_pattern_match(glob, path) || hk_pattern_match(glob, base)) {
		return true;
	}
	if (*glob == '\0' || has_wildcard(glob)) {
		return false;
	}
	while (*glob != '\0' && *glob == *base) {
		glob++;
		base++;
	}
	return *glob == '\0' && *base == '.';
}

int hk_pattern_split(const char *text, size_t length, size_t *ret_colon)
{
	size_t colon = length;

	while (colon > 0 && text[colon - 1] != ':') {
		colon--;
	}
	/* `colon` is one past the colon, or 0 when there is none. */
	if (colon < 2 || colon == length) {
		return -EINVAL;
	}
	*ret_colon = colon - 1;
	return 0;
}

bool hk_pattern_match_function(const char *pattern, const char *provider, const char *function)
{
	char library[HK_PATTERN_LIBRARY_MAX + 1];
	size_t colon;

	if (hk_pattern_split(pattern, strlen(pattern), &colon) < 0) {
		return hk_pattern_match(pattern, function);
	}
	if (colon >= sizeof(library) || !hk_pattern_match(pattern + colon + 1, function)) {
		return false;
	}
	memcpy(library, pattern, colon);
	library[colon] = '\0';
	return strcmp(library, "*") == 0 || hk_pattern_match_library(library, provider);
}
