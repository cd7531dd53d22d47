#include "html.h"

#include "assets.h"
#include "document.h"
#include "page.h"

static int report_data(const void *subject, FILE *output)
{
	return hk_html_document_write(subject, output);
}

int hk_html_write(const struct hk_report *report, FILE *output)
{
	const struct hk_html_page page = {
	    .source = hk_html_page,
	    .source_end = hk_html_page_end,
	    .script = hk_html_script,
	    .script_end = hk_html_script_end,
	    .data = report_data,
	    .subject = report,
	};

	return hk_html_page_write(&page, output);
}
