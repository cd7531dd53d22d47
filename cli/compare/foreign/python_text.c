#include "cli/compare/foreign/python_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fewest digits, at most 17, of which the double is the nearest. */
static int digits_of(double number)
{
	char text[HK_PYTHON_NUMBER_BYTES];

	for (int digits = 1; digits < 17; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits - 1, number);
		if (strtod(text, NULL) == number) {
			return digits;
		}
	}
	return 17;
}

const char *hk_python_number(char text[HK_PYTHON_NUMBER_BYTES], double number)
{
	char exponent_text[HK_PYTHON_NUMBER_BYTES];

	if (!isfinite(number)) {
		const char *name = isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
		snprintf(text, HK_PYTHON_NUMBER_BYTES, "%s", name);
		return text;
	}
	int digits = digits_of(number);
	snprintf(exponent_text, sizeof(exponent_text), "%.*e", digits - 1, number);
	int exponent = (int)strtol(strchr(exponent_text, 'e') + 1, NULL, 10);
	if (exponent < -4 || exponent >= 16) {
		snprintf(text, HK_PYTHON_NUMBER_BYTES, "%s", exponent_text);
	} else {
		int places = digits - 1 - exponent;
		snprintf(text, HK_PYTHON_NUMBER_BYTES, "%.*f", places > 1 ? places : 1, number);
	}
	return text;
}

void hk_python_text(char *text, size_t size, const json_t *value)
{
	char number[HK_PYTHON_NUMBER_BYTES];

	if (!value || json_is_null(value)) {
		snprintf(text, size, "None");
	} else if (json_is_boolean(value)) {
		snprintf(text, size, "%s", json_is_true(value) ? "True" : "False");
	} else if (json_is_integer(value)) {
		snprintf(text, size, "%lld", (long long)json_integer_value(value));
	} else if (json_is_real(value)) {
		snprintf(text, size, "%s", hk_python_number(number, json_real_value(value)));
	} else if (json_is_string(value)) {
		snprintf(text, size, "%s", json_string_value(value));
	} else {
		char *json = json_dumps(value, JSON_ENCODE_ANY);
		snprintf(text, size, "%s", json ? json : "?");
		free(json);
	}
}
