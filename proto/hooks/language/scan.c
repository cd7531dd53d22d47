#include "hooks/language/scan.h"

#include <errno.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_glob(char c)
{
	return c > ' ' && c < 0x7f && c != '(' && c != ')' && c != ',' && c != '=' && c != '\\';
}

/* Bytes of a line continuation at `at`: a backslash, blanks before the line's end, the end. 0:
 * none. */
static size_t continuation(const char *at, const char *end)
{
	const char *p = at;

	if (p == end || *p != '\\') {
		return 0;
	}
	p++;
	while (p < end && is_blank(*p)) {
		p++;
	}
	return p < end && *p == '\n' ? (size_t)(p + 1 - at) : 0;
}

bool hk_lines_next(struct hk_lines *lines, struct hk_scan *ret_line, uint32_t *ret_number)
{
	const char *p = lines->at;

	if (p == lines->end) {
		return false;
	}
	*ret_number = lines->next;
	while (p < lines->end && *p != '\n' && *p != '#') {
		size_t skip = continuation(p, lines->end);
		lines->next += skip != 0;
		p += skip != 0 ? skip : 1;
	}
	*ret_line = (struct hk_scan){.at = lines->at, .end = p};
	while (p < lines->end && *p != '\n') {
		p++;
	}
	lines->at = p < lines->end ? p + 1 : p;
	lines->next++;
	return true;
}

static void skip_blanks(struct hk_scan *scan)
{
	while (scan->at < scan->end) {
		size_t skip = continuation(scan->at, scan->end);
		if (skip == 0 && !is_blank(*scan->at)) {
			return;
		}
		scan->at += skip != 0 ? skip : 1;
	}
}

bool hk_scan_done(struct hk_scan *scan)
{
	skip_blanks(scan);
	return scan->at == scan->end;
}

static struct hk_word take_run(struct hk_scan *scan, bool (*accept)(char))
{
	skip_blanks(scan);
	struct hk_word word = {.text = scan->at};
	while (scan->at < scan->end && accept(*scan->at)) {
		scan->at++;
	}
	word.length = (size_t)(scan->at - word.text);
	return word;
}

struct hk_word hk_scan_name(struct hk_scan *scan)
{
	return take_run(scan, is_name);
}

struct hk_word hk_scan_glob(struct hk_scan *scan)
{
	return take_run(scan, is_glob);
}

bool hk_scan_take(struct hk_scan *scan, char wanted)
{
	skip_blanks(scan);
	if (scan->at == scan->end || *scan->at != wanted) {
		return false;
	}
	scan->at++;
	return true;
}

int hk_scan_fail(struct hk_scan *scan, const char *problem, struct hk_word subject)
{
	if (scan->problem == NULL) {
		scan->problem = problem;
		scan->subject = subject;
	}
	return -EINVAL;
}

struct hk_word hk_word_of(const char *text)
{
	return (struct hk_word){.text = text, .length = strlen(text)};
}

bool hk_word_equal(struct hk_word a, struct hk_word b)
{
	return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

bool hk_word_is(struct hk_word word, const char *text)
{
	return hk_word_equal(word, hk_word_of(text));
}
