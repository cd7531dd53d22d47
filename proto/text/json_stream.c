#include "text/json_stream.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

/* Number of bytes at TEXT that need no escape. */
static size_t plain_length(const char *text)
{
	size_t length = 0;

	while (text[length] >= 0x20 && text[length] < 0x7f && text[length] != '"' &&
	       text[length] != '\\') {
		length++;
	}
	return length;
}

static void write_quoted(FILE *output, const char *text)
{
	putc_unlocked('"', output);
	for (;;) {
		size_t plain = plain_length(text);
		fwrite_unlocked(text, 1, plain, output);
		text += plain;
		if (!*text) {
			break;
		}
		size_t length = hk_utf8_length(text);
		unsigned char byte = (unsigned char)*text;

		if (!length) {
			fputs("\\ufffd", output);
			length = 1;
		} else if (byte == '"' || byte == '\\') {
			putc_unlocked('\\', output);
			putc_unlocked(byte, output);
		} else if (byte < 0x20 || byte == 0x7f) {
			fprintf(output, "\\u%04x", byte);
		} else {
			fwrite_unlocked(text, 1, length, output);
		}
		text += length;
	}
	putc_unlocked('"', output);
}

static void write_key(struct hk_json *json, const char *key)
{
	if (json->comma) {
		putc_unlocked(',', json->output);
	}
	json->comma = true;
	if (key) {
		write_quoted(json->output, key);
		putc_unlocked(':', json->output);
	}
}

/* Digits by hand: this is most of the work of a large export. */
static void write_digits(FILE *output, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	fwrite_unlocked(digits + at, 1, sizeof(digits) - at, output);
}

static uint64_t write_sign(FILE *output, int64_t value)
{
	if (value >= 0) {
		return (uint64_t)value;
	}
	putc_unlocked('-', output);
	return -(uint64_t)value;
}

void hk_json_open(struct hk_json *json, const char *key, char bracket)
{
	write_key(json, key);
	putc_unlocked(bracket, json->output);
	json->comma = false;
}

void hk_json_close(struct hk_json *json, char bracket)
{
	putc_unlocked(bracket, json->output);
	json->comma = true;
}

void hk_json_string(struct hk_json *json, const char *key, const char *value)
{
	write_key(json, key);
	write_quoted(json->output, value);
}

void hk_json_int(struct hk_json *json, const char *key, int64_t value)
{
	write_key(json, key);
	write_digits(json->output, write_sign(json->output, value));
}

void hk_json_uint(struct hk_json *json, const char *key, uint64_t value)
{
	write_key(json, key);
	write_digits(json->output, value);
}

void hk_json_null(struct hk_json *json, const char *key)
{
	write_key(json, key);
	fwrite_unlocked("null", 1, 4, json->output);
}

void hk_json_bool(struct hk_json *json, const char *key, bool value)
{
	write_key(json, key);
	fputs(value ? "true" : "false", json->output);
}

void hk_json_microseconds(struct hk_json *json, const char *key, int64_t value_ns)
{
	uint64_t magnitude;
	unsigned int rest;

	write_key(json, key);
	magnitude = write_sign(json->output, value_ns);
	rest = (unsigned int)(magnitude % 1000);
	write_digits(json->output, magnitude / 1000);
	putc_unlocked('.', json->output);
	putc_unlocked((int)('0' + rest / 100), json->output);
	putc_unlocked((int)('0' + rest / 10 % 10), json->output);
	putc_unlocked((int)('0' + rest % 10), json->output);
}

void hk_json_hex(struct hk_json *json, const char *key, uint64_t value)
{
	write_key(json, key);
	fprintf(json->output, "\"0x%" PRIx64 "\"", value);
}

void hk_json_double(struct hk_json *json, const char *key, uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	if (isfinite(value)) {
		char text[32];
		/* The fewest digits that read back as the same number. */
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, value);
			if (strtod(text, NULL) == value) {
				break;
			}
		}
		write_key(json, key);
		fputs(text, json->output);
	} else {
		hk_json_string(json, key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
	}
}

void hk_json_newline(struct hk_json *json)
{
	if (json->comma) {
		putc_unlocked(',', json->output);
		json->comma = false;
	}
	putc_unlocked('\n', json->output);
}
