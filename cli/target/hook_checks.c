#include "cli/target/hook_checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/target/imported_symbols.h"
#include "hooks/pattern.h"
#include "hooks/shipped.h"

#define NEAREST_MAX 3u
#define INSIDE                                                                                \
	"%.200s: %u of its functions are part of the program itself (%.200s): its own calls " \
	"to them go through no slot and are not seen"

struct findings {
	struct hk_check_result *results;
	size_t count;
};

__attribute__((format(printf, 2, 3))) static struct hk_check_result *
note_hook(struct findings *findings, const char *format, ...)
{
	struct hk_check_result *result = &findings->results[findings->count++];
	va_list arguments;

	result->state = HK_CHECK_NOTE;
	va_start(arguments, format);
	vsnprintf(result->detail, sizeof(result->detail), format, arguments);
	va_end(arguments);
	return result;
}

/* Notes a function that is part of the program. Also notes a name without wildcards that no object
 * imports: it is mistyped, or only libraries that the program opens later call it. */
static void examine_pattern(struct findings *findings, const struct hk_imported_symbols *imports,
			    const char *item)
{
	const char *nearest[NEAREST_MAX];
	char function[256];
	size_t colon, length = strcspn(item, " \t"), used = 0;

	if (hk_pattern_split(item, length, &colon) < 0) {
		return;
	}
	snprintf(function, sizeof(function), "%.*s", (int)(length - colon - 1), item + colon + 1);
	if (hk_imported_symbols_defines(imports, function)) {
		note_hook(findings, INSIDE, item, 1u, function);
		return;
	}
	if (strpbrk(function, "*?/.") || hk_imported_symbols_has(imports, function)) {
		return;
	}
	size_t count = hk_imported_symbols_nearest(imports, function, nearest, NEAREST_MAX);
	struct hk_check_result *result = note_hook(
	    findings,
	    "%.200s: the program and the libraries it is linked with do not call '%.200s'", item,
	    function);
	for (size_t i = 0; i < count && used < sizeof(result->fix); i++) {
		used += (size_t)snprintf(result->fix + used, sizeof(result->fix) - used, "%s%s",
					 i ? ", " : "they call ", nearest[i]);
	}
}

/* Notes how many functions of a shipped file are part of the program. */
static void examine_shipped(struct findings *findings, const struct hk_imported_symbols *imports,
			    const char *item)
{
	const char *first = NULL;
	unsigned count = 0;

	bool automatic = strcmp(item, "auto") == 0;
	for (uint32_t i = 0; i < hk_shipped_hook_count; i++) {
		struct hk_hook hook;
		hk_shipped_get(i, &hook);
		if ((automatic ? hook.auto_level != HK_LEVEL_OFF
			       : strcmp(item, hk_shipped_name(hk_shipped_file_of(i))) == 0) &&
		    hk_imported_symbols_defines(imports, hook.symbol)) {
			first = first ? first : hook.symbol;
			count++;
		}
	}
	if (count > 0) {
		note_hook(findings, INSIDE, item, count, first);
	}
}

size_t hk_hook_checks_run(const char *hooks, const char *program, struct hk_check_result *results,
			  size_t limit)
{
	struct findings findings = {.results = results};
	struct hk_imported_symbols *imports = NULL;
	char *copy = strdup(hooks), *rest = copy, *item;

	if (copy && hk_imported_symbols_new(program, &imports) == 0) {
		while ((item = strsep(&rest, ",")) && findings.count < limit) {
			item += strspn(item, " ");
			if (strchr(item, ':')) {
				examine_pattern(&findings, imports, item);
			} else {
				examine_shipped(&findings, imports, item);
			}
		}
	}
	hk_imported_symbols_free(imports);
	free(copy);
	return findings.count;
}
