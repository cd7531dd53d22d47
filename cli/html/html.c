#include "html.h"

#include <errno.h>
#include <string.h>

#include "assets.h"
#include "document.h"
#include "escape.h"

/* In the page's source these stand for what the build or the job puts there. */
#define MARK_BEGIN "<!--hk:"
#define MARK_END "-->"

static int data_write(const struct hk_report *report, FILE *output)
{
	FILE *escaped = hk_html_escape_open(output);
	int r = escaped ? hk_html_document_write(report, escaped) : -ENOMEM;

	if (escaped && fclose(escaped) != 0) {
		r = r ? r : -EIO;
	}
	return r;
}

static bool is_named(const char *mark, size_t length, const char *name)
{
	return length == strlen(name) && memcmp(mark, name, length) == 0;
}

static int part_write(const char *mark, size_t length, const struct hk_report *report, FILE *output)
{
	if (is_named(mark, length, "style")) {
		fwrite(hk_html_style, 1, (size_t)(hk_html_style_end - hk_html_style), output);
	} else if (is_named(mark, length, "script")) {
		fwrite(hk_html_script, 1, (size_t)(hk_html_script_end - hk_html_script), output);
	} else if (is_named(mark, length, "data")) {
		return data_write(report, output);
	}
	return 0;
}

int hk_html_write(const struct hk_report *report, FILE *output)
{
	const char *at = hk_html_page, *end = hk_html_page_end, *mark;
	int r = 0;

	while (r == 0 && (mark = memmem(at, (size_t)(end - at), MARK_BEGIN, strlen(MARK_BEGIN)))) {
		const char *name = mark + strlen(MARK_BEGIN);
		const char *close = memmem(name, (size_t)(end - name), MARK_END, strlen(MARK_END));
		if (!close) {
			break;
		}
		fwrite(at, 1, (size_t)(mark - at), output);
		r = part_write(name, (size_t)(close - name), report, output);
		at = close + strlen(MARK_END);
	}
	fwrite(at, 1, (size_t)(end - at), output);
	return r == 0 && ferror(output) ? -EIO : r;
}
