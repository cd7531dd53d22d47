/* json_stream.h: writes JSON as a stream, for documents too large to hold. The stream writes
 * commas, quotes and escapes; the caller is responsible for the order of calls. Strings may hold
 * any bytes; invalid UTF-8 becomes U+FFFD. Errors stay in the FILE (ferror). One owner, no locking,
 * no allocation. */
#ifndef HK_TEXT_JSON_STREAM_H
#define HK_TEXT_JSON_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hk_json {
	FILE *output;
	bool comma; /* a value was written before the next one */
};

/* In arrays KEY is NULL, in objects it is the member's name. BRACKET is '{' or '['. */
void hk_json_open(struct hk_json *json, const char *key, char bracket);
void hk_json_close(struct hk_json *json, char bracket); /* '}' or ']' */
void hk_json_string(struct hk_json *json, const char *key, const char *value);
void hk_json_int(struct hk_json *json, const char *key, int64_t value);
void hk_json_uint(struct hk_json *json, const char *key, uint64_t value);
void hk_json_null(struct hk_json *json, const char *key);
void hk_json_bool(struct hk_json *json, const char *key, bool value);

/* Nanoseconds as microseconds with three decimals, exactly. */
void hk_json_microseconds(struct hk_json *json, const char *key, int64_t value_ns);

/* A number as "0x..." text: addresses and hashes do not fit a JSON reader's doubles. */
void hk_json_hex(struct hk_json *json, const char *key, uint64_t value);

/* The double with these BITS; values without a JSON number are texts: "nan", "inf", "-inf". */
void hk_json_double(struct hk_json *json, const char *key, uint64_t bits);

/* Starts a new line between two values. */
void hk_json_newline(struct hk_json *json);

#endif
