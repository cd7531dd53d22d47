#include "collector/otlp/answer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "schema/otlp.pb-c.h"
#include "text/name.h"

#define SAID_COLUMNS 160
#define VALUE_BYTES 64u /* of a field that matters here */

_Static_assert(HK_OTLP_SAID_BYTES == HK_NAME_BYTES(SAID_COLUMNS), "room for the words");

struct head {
	unsigned status;
	uint32_t wait_s;
	bool chunked, sized;
	uint64_t length; /* if sized */
};

/* ---- the head ---- */

/* Returns the size of the line at AT without its end, and sets *RET_NEXT behind it, or to NULL if
 * the line has no end. */
static size_t line_at(const char *at, const char *end, const char **ret_next)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));
	*ret_next = newline ? newline + 1 : NULL;
	size_t size = newline ? (size_t)(newline - at) : 0;
	return size > 0 && at[size - 1] == '\r' ? size - 1 : size;
}

/* Parses HTTP/1.x SP STATUS. */
static bool parse_status(const char *line, size_t size, unsigned *ret_status)
{
	if (size < strlen("HTTP/1.1 200") || memcmp(line, "HTTP/1.", strlen("HTTP/1.")) != 0 ||
	    line[8] != ' ' || (size > 12 && line[12] != ' ')) {
		return false;
	}
	*ret_status = 0;
	for (int i = 9; i < 12; i++) {
		if (!isdigit((unsigned char)line[i])) {
			return false;
		}
		*ret_status = *ret_status * 10 + (unsigned)(line[i] - '0');
	}
	return *ret_status >= 100 && *ret_status < 600;
}

/* Seconds, or a date of HTTP. */
static uint32_t parse_wait(const char *value, uint64_t now_s)
{
	struct tm date = {0};
	uint64_t wait = strtoull(value, NULL, 10);
	if (!isdigit((unsigned char)*value)) {
		const char *end = strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &date);
		time_t at = end && !*end ? timegm(&date) : 0;
		wait = at > 0 && (uint64_t)at > now_s ? (uint64_t)at - now_s : 0;
	}
	return wait < HK_OTLP_WAIT_MAX_S ? (uint32_t)wait : HK_OTLP_WAIT_MAX_S;
}

static bool is_field(const char *line, size_t size, const char *name)
{
	return size == strlen(name) && strncasecmp(line, name, size) == 0;
}

/* Takes the field in LINE if it matters. */
static bool parse_field(const char *line, size_t size, uint64_t now_s, struct head *head)
{
	const char *colon = memchr(line, ':', size);
	char value[VALUE_BYTES] = "";
	if (!colon || colon == line) {
		return false;
	}
	const char *at = colon + 1, *end = line + size;
	while (at < end && (*at == ' ' || *at == '\t')) {
		at++;
	}
	while (end > at && (end[-1] == ' ' || end[-1] == '\t')) {
		end--;
	}
	if ((size_t)(end - at) >= sizeof(value)) {
		return true;
	}
	memcpy(value, at, (size_t)(end - at));
	size = (size_t)(colon - line);
	if (is_field(line, size, "Retry-After")) {
		head->wait_s = parse_wait(value, now_s);
	} else if (is_field(line, size, "Transfer-Encoding")) {
		head->chunked = strcasecmp(value, "chunked") == 0;
	} else if (is_field(line, size, "Content-Length")) {
		head->sized = true;
		head->length = strtoull(value, NULL, 10);
	}
	return true;
}

/* Parses a head at BYTES. Returns 1 and the body's place, 0 if more must come, or -EBADMSG. */
static int parse_head(const char *bytes, const char *end, uint64_t now_s, struct head *ret_head,
		      const char **ret_body)
{
	const char *at = bytes, *next;
	size_t size = line_at(at, end, &next);
	*ret_head = (struct head){0};
	if (!next) {
		return 0;
	}
	if (!parse_status(at, size, &ret_head->status)) {
		return -EBADMSG;
	}
	for (at = next;; at = next) {
		size = line_at(at, end, &next);
		if (!next) {
			return 0;
		}
		if (size == 0) {
			*ret_body = next;
			return 1;
		}
		if (!parse_field(at, size, now_s, ret_head)) {
			return -EBADMSG;
		}
	}
}

/* ---- the body ---- */

/* Reads the size of a chunk in hexadecimal digits. Returns false if there is none. */
static bool chunk_size(const char *line, size_t size, size_t *ret_size)
{
	size_t digits = 0;
	*ret_size = 0;
	for (; digits < size && isxdigit((unsigned char)line[digits]); digits++) {
		int digit = tolower((unsigned char)line[digits]);
		if (*ret_size > HK_OTLP_ANSWER_BYTES) {
			return false;
		}
		*ret_size =
		    *ret_size * 16 + (size_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
	}
	return digits > 0 && (digits == size || line[digits] == ';' || line[digits] == ' ');
}

/* Joins the chunks from AT to END into BODY. Returns 1, 0 if more must come, or -EBADMSG. */
static int join_chunks(const char *at, const char *end, uint8_t body[HK_OTLP_ANSWER_BYTES],
		       size_t *ret_size)
{
	const char *next;
	*ret_size = 0;
	for (;;) {
		size_t size, line = line_at(at, end, &next);
		if (!next) {
			return 0;
		}
		if (!chunk_size(at, line, &size)) {
			return -EBADMSG;
		}
		if (size == 0) {
			return 1;
		}
		if ((size_t)(end - next) < size) {
			return 0;
		}
		memcpy(body + *ret_size, next, size);
		*ret_size += size;
		at = next + size;
		if (line_at(at, end, &next) != 0) {
			return -EBADMSG;
		}
		if (!next) {
			return 0;
		}
		at = next;
	}
}

/* Copies the body at AT. Results as of join_chunks. */
static int take_body(const struct head *head, const char *at, const char *end, bool last,
		     uint8_t body[HK_OTLP_ANSWER_BYTES], size_t *ret_size)
{
	size_t size = (size_t)(end - at);
	if (head->status == 204) {
		return 1;
	}
	if (head->chunked) {
		return join_chunks(at, end, body, ret_size);
	}
	if (head->sized ? size < head->length : !last) {
		return 0;
	}
	*ret_size = head->sized ? head->length : size;
	memcpy(body, at, *ret_size);
	return 1;
}

/* ---- what it says ---- */

static void say(struct hk_otlp_answer *answer, const char *text)
{
	hk_name_print(answer->said, SAID_COLUMNS, text);
}

/* Returns false if BODY is not what OTLP has. Some receivers answer in JSON, which is not read. */
static bool read_success(const uint8_t *body, size_t size, struct hk_otlp_answer *answer)
{
	Hk__Otlp__ExportMetricsServiceResponse *response =
	    hk__otlp__export_metrics_service_response__unpack(NULL, size, body);
	if (response && response->partial_success) {
		int64_t rejected = response->partial_success->rejected_data_points;
		answer->rejected = rejected > 0 ? (uint64_t)rejected : 0;
		say(answer, response->partial_success->error_message);
	}
	bool read = response || (size > 0 && *body == '{');
	if (response) {
		hk__otlp__export_metrics_service_response__free_unpacked(response, NULL);
	}
	return read;
}

/* The body of an error may be anything. */
static void read_error(const uint8_t *body, size_t size, struct hk_otlp_answer *answer)
{
	Hk__Otlp__Status *status = hk__otlp__status__unpack(NULL, size, body);
	if (status) {
		say(answer, status->message);
		hk__otlp__status__free_unpacked(status, NULL);
	}
}

int hk_otlp_answer_parse(const char *bytes, size_t size, bool last, uint64_t now_s,
			 struct hk_otlp_answer *ret_answer)
{
	struct hk_otlp_answer answer = {0};
	uint8_t body[HK_OTLP_ANSWER_BYTES];
	const char *at = bytes, *end = bytes + size;
	struct head head;
	size_t body_size = 0;
	int r;
	if (size > HK_OTLP_ANSWER_BYTES) {
		return -EBADMSG;
	}
	/* An answer of class 1 comes before the one that counts. */
	do {
		r = parse_head(at, end, now_s, &head, &at);
	} while (r > 0 && head.status < 200);
	if (r <= 0) {
		return r == 0 && last ? -EBADMSG : r;
	}
	answer.status = head.status;
	answer.wait_s = head.wait_s;
	r = take_body(&head, at, end, last, body, &body_size);
	if (r == 0 && !last) {
		return 0;
	}
	bool success = head.status < 300;
	if (success && (r <= 0 || !read_success(body, body_size, &answer))) {
		return -EBADMSG;
	}
	if (!success && r > 0) {
		read_error(body, body_size, &answer);
	}
	*ret_answer = answer;
	return 1;
}
