#include "cli/compare/foreign/json_text.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/array/file_bytes.h"

#define DIGITS_MAX 18u /* every integer of so many digits fits 64 bits */

/* The length of the string at AT, with its quotes; 0 if it does not end. */
static size_t string_length(const char *at, const char *end)
{
	const char *next = at + 1;

	while (next < end && *next != '"') {
		next += *next == '\\' && end - next > 1 ? 2 : 1;
	}
	return next < end ? (size_t)(next + 1 - at) : 0;
}

static bool is_of_word(char byte)
{
	return isalnum((unsigned char)byte) || byte == '-' || byte == '+' || byte == '.' ||
	       byte == '_';
}

/* Whether the word is a number that JSON has not. */
static bool is_foreign(const char *word, size_t length)
{
	static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
	size_t digits = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strlen(names[i]) == length && !memcmp(names[i], word, length)) {
			return true;
		}
	}
	while (digits < length &&
	       (isdigit((unsigned char)word[digits]) || (digits == 0 && word[digits] == '-'))) {
		digits++;
	}
	return digits == length && digits > DIGITS_MAX;
}

char *hk_json_text_quote(const void *text, size_t length, size_t *ret_length)
{
	const char *at = text, *end = at + length;
	char *quoted, *to;
	size_t room;

	/* The shortest of such words, NaN, grows by two thirds. */
	if (__builtin_add_overflow(length, length, &room) || !(quoted = malloc(room + 1))) {
		return NULL;
	}
	for (to = quoted; at < end;) {
		size_t count = *at == '"' ? string_length(at, end) : 0;
		while (*at != '"' && at + count < end && is_of_word(at[count])) {
			count++;
		}
		bool foreign = *at != '"' && is_foreign(at, count);
		count = count ? count : 1;
		to += snprintf(to, 2, "%s", foreign ? "\"" : "");
		memcpy(to, at, count);
		to += count;
		to += snprintf(to, 2, "%s", foreign ? "\"" : "");
		at += count;
	}
	*to = 0;
	*ret_length = (size_t)(to - quoted);
	return quoted;
}

json_t *hk_json_text_parse(const void *text, size_t length, char reason[HK_ARRAY_REASON_BYTES])
{
	json_error_t error;
	size_t quoted_length;
	char *quoted = hk_json_text_quote(text, length, &quoted_length);

	if (!quoted) {
		hk_array_refuse(reason, "out of memory");
		return NULL;
	}
	json_t *value = json_loadb(quoted, quoted_length, 0, &error);
	free(quoted);
	if (!value) {
		hk_array_refuse(reason, "line %d: %s", error.line, error.text);
	}
	return value;
}

json_t *hk_json_text_load(const char *path, char reason[HK_ARRAY_REASON_BYTES])
{
	struct hk_file_bytes file;
	int r = hk_file_bytes_read(&file, path);

	if (r < 0) {
		hk_array_refuse(reason, "%s", strerror(-r));
		return NULL;
	}
	json_t *value = hk_json_text_parse(file.bytes, file.size, reason);
	free(file.bytes);
	return value;
}

double hk_json_text_number(const json_t *value)
{
	char *end;

	if (json_is_number(value)) {
		return json_number_value(value);
	}
	if (json_is_boolean(value)) {
		return json_is_true(value) ? 1 : 0;
	}
	if (!json_is_string(value)) {
		return NAN;
	}
	double number = strtod(json_string_value(value), &end);
	return *json_string_value(value) && !*end ? number : NAN;
}
