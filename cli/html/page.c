#include "cli/html/page.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cli/html/assets.h"
#include "cli/html/escape.h"

/* Marks in the page's source, which the build's or the job's content replaces. */
#define MARK_BEGIN "<!--hk:"
#define MARK_END "-->"

static int data_write(const struct hk_html_page *page, FILE *output)
{
	FILE *escaped = hk_html_escape_open(output);
	int r = escaped ? page->data(page->subject, escaped) : -ENOMEM;

	if (escaped && fclose(escaped) != 0) {
		r = r ? r : -EIO;
	}
	return r;
}

static bool is_named(const char *mark, size_t length, const char *name)
{
	return length == strlen(name) && memcmp(mark, name, length) == 0;
}

static int part_write(const struct hk_html_page *page, const char *mark, size_t length,
		      FILE *output)
{
	if (is_named(mark, length, "style")) {
		fwrite(hk_html_style, 1, (size_t)(hk_html_style_end - hk_html_style), output);
	} else if (is_named(mark, length, "script")) {
		fwrite(page->script, 1, (size_t)(page->script_end - page->script), output);
		if (page->start) {
			fwrite(page->start, 1, (size_t)(page->start_end - page->start), output);
		}
	} else if (is_named(mark, length, "connect")) {
		fputs(page->live ? "'self'" : "'none'", output);
	} else if (is_named(mark, length, "data") && page->data) {
		return data_write(page, output);
	}
	return 0;
}

int hk_html_page_write(const struct hk_html_page *page, FILE *output)
{
	const char *at = page->source, *end = page->source_end, *mark;
	int r = 0;

	while (r == 0 && (mark = memmem(at, (size_t)(end - at), MARK_BEGIN, strlen(MARK_BEGIN)))) {
		const char *name = mark + strlen(MARK_BEGIN);
		const char *close = memmem(name, (size_t)(end - name), MARK_END, strlen(MARK_END));
		if (!close) {
			break;
		}
		fwrite(at, 1, (size_t)(mark - at), output);
		r = part_write(page, name, (size_t)(close - name), output);
		at = close + strlen(MARK_END);
	}
	fwrite(at, 1, (size_t)(end - at), output);
	return r == 0 && ferror(output) ? -EIO : r;
}
