/* A comparison as a page that opens from disk. */
#include "cli/html/page.h"
#include "cli/compare/format.h"
#include "cli/compare/json.h"
#include "cli/html/assets.h"

#define PAGE_ROWS 2000u /* a browser draws these at once */

static int page_data(const void *subject, FILE *output)
{
	return hk_comparison_json(subject, PAGE_ROWS, output);
}

static int html_write(const struct hk_comparison *comparison, FILE *output)
{
	const struct hk_html_page page = {
	    .source = hk_html_precision_page,
	    .source_end = hk_html_precision_page_end,
	    .script = hk_html_precision_script,
	    .script_end = hk_html_precision_script_end,
	    .data = page_data,
	    .subject = comparison,
	};

	return hk_html_page_write(&page, output);
}

const struct hk_comparison_format hk_comparison_format_html = {"html", html_write};
