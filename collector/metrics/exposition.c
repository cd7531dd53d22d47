#include "collector/metrics/exposition.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define NS_PER_S UINT64_C(1000000000)

/* ---- which format ---- */

const char *hk_exposition_content_type(enum hk_exposition_format format)
{
	return format == HK_EXPOSITION_OPENMETRICS
		   ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		   : "text/plain; version=0.0.4; charset=utf-8";
}

/* An element of an Accept header. TEXT is borrowed from the header. */
struct range {
	const char *text;
	size_t size;
	double weight;
	bool version_1; /* its version is the supported one, or missing */
};

static const char *skip_blank(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t')) {
		at++;
	}
	return at;
}

static bool begins(const char *at, const char *end, const char *word)
{
	size_t size = strlen(word);
	return (size_t)(end - at) >= size && strncasecmp(at, word, size) == 0;
}

/* Parses a range from AT to END: a type, then parameters after semicolons. */
static struct range range_of(const char *at, const char *end)
{
	const char *semicolon = memchr(at, ';', (size_t)(end - at));
	const char *type_end = semicolon ? semicolon : end;
	struct range range = {.text = at, .weight = 1, .version_1 = true};
	while (type_end > at && (type_end[-1] == ' ' || type_end[-1] == '\t')) {
		type_end--;
	}
	range.size = (size_t)(type_end - at);
	while (semicolon) {
		const char *parameter = skip_blank(semicolon + 1, end);
		semicolon = memchr(parameter, ';', (size_t)(end - parameter));
		if (begins(parameter, end, "q=")) {
			range.weight = strtod(parameter + 2, NULL);
		} else if (begins(parameter, end, "version=")) {
			const char *version = parameter + strlen("version=");
			version += *version == '"';
			range.version_1 = begins(version, end, "1.");
		}
	}
	return range;
}

static bool is_type(const struct range *range, const char *type)
{
	return range->size == strlen(type) && strncasecmp(range->text, type, range->size) == 0;
}

enum hk_exposition_format hk_exposition_choose(const char *accept)
{
	/* A range that names the type has priority over a wildcard. */
	double open = 0, text = -1, any_text = -1, any = -1;
	for (const char *at = accept; at && *at;) {
		const char *end = at + strcspn(at, ",");
		const char *begin = skip_blank(at, end);
		struct range range = range_of(begin, end);
		if (is_type(&range, "application/openmetrics-text") && range.version_1) {
			open = range.weight > open ? range.weight : open;
		} else if (is_type(&range, "text/plain")) {
			text = range.weight > text ? range.weight : text;
		} else if (is_type(&range, "text/*")) {
			any_text = range.weight;
		} else if (is_type(&range, "*/*")) {
			any = range.weight;
		}
		at = *end ? end + 1 : end;
	}
	double plain = text >= 0 ? text : any_text >= 0 ? any_text : any >= 0 ? any : 0;
	return open > 0 && open >= plain ? HK_EXPOSITION_OPENMETRICS : HK_EXPOSITION_TEXT;
}

/* ---- writing ---- */

static const char *type_name(enum hk_metric_type type, enum hk_exposition_format format)
{
	switch (type) {
	case HK_METRIC_COUNTER:
		return "counter";
	case HK_METRIC_HISTOGRAM:
		return "histogram";
	case HK_METRIC_INFO:
		return format == HK_EXPOSITION_OPENMETRICS ? "info" : "gauge";
	default:
		return "gauge";
	}
}

static const char *ending(enum hk_metric_type type)
{
	return type == HK_METRIC_COUNTER ? "_total" : type == HK_METRIC_INFO ? "_info" : "";
}

void hk_exposition_family(const struct hk_exposition *exposition, const char *name,
			  enum hk_metric_type type, enum hk_metric_unit unit, const char *help)
{
	static const char *const units[] = {
	    [HK_METRIC_SECONDS] = "seconds",
	    [HK_METRIC_BYTES] = "bytes",
	};
	FILE *output = exposition->output;
	bool open = exposition->format == HK_EXPOSITION_OPENMETRICS;
	/* In the older format, the family has the name of its samples. */
	const char *end = open ? "" : ending(type);
	fprintf(output, "# HELP %s%s %s\n", name, end, help);
	fprintf(output, "# TYPE %s%s %s\n", name, end, type_name(type, exposition->format));
	if (open && unit != HK_METRIC_NONE) {
		fprintf(output, "# UNIT %s %s\n", name, units[unit]);
	}
}

void hk_exposition_sample(struct hk_exposition *exposition, const char *name,
			  enum hk_metric_type type, const char *suffix)
{
	fputs(name, exposition->output);
	fputs(type == HK_METRIC_HISTOGRAM ? suffix : ending(type), exposition->output);
	exposition->labelled = false;
}

void hk_exposition_label(struct hk_exposition *exposition, const char *name, const char *value)
{
	FILE *output = exposition->output;
	if (!*value) {
		return;
	}
	putc_unlocked(exposition->labelled ? ',' : '{', output);
	exposition->labelled = true;
	fputs(name, output);
	fputs("=\"", output);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"') {
			putc_unlocked('\\', output);
		}
		if (*value == '\n') {
			fputs("\\n", output);
		} else {
			putc_unlocked(*value, output);
		}
	}
	putc_unlocked('"', output);
}

const char *hk_exposition_seconds(char text[32], uint64_t ns)
{
	int size = snprintf(text, 32, "%" PRIu64 ".%09" PRIu64, ns / NS_PER_S, ns % NS_PER_S);
	while (size > 0 && text[size - 1] == '0' && text[size - 2] != '.') {
		size--;
	}
	text[size] = '\0';
	return text;
}

void hk_exposition_value(struct hk_exposition *exposition, enum hk_metric_unit unit, uint64_t value)
{
	char text[32];
	if (unit == HK_METRIC_SECONDS) {
		hk_exposition_seconds(text, value);
	} else {
		snprintf(text, sizeof(text), "%" PRIu64, value);
	}
	fprintf(exposition->output, "%s %s\n", exposition->labelled ? "}" : "", text);
	exposition->lines++;
}

void hk_exposition_end(const struct hk_exposition *exposition)
{
	if (exposition->format == HK_EXPOSITION_OPENMETRICS) {
		fputs("# EOF\n", exposition->output);
	}
}
