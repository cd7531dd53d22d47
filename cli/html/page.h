/* page.h: a page of ours as one file: source, style, scripts and one JSON document.
 *
 * In the source, <!--hk:style-->, <!--hk:script--> and <!--hk:data--> stand for these. Main thread
 * only.
 */
#ifndef HK_CLI_HTML_PAGE_H
#define HK_CLI_HTML_PAGE_H

#include <stdio.h>

struct hk_html_page {
	const char *source, *source_end;
	const char *script, *script_end;
	/* Writes the document about SUBJECT; it need not know that it stands in a page. */
	int (*data)(const void *subject, FILE *output);
	const void *subject;
};

/* Writes PAGE. -EIO, -ENOMEM, or what its data function returned. */
int hk_html_page_write(const struct hk_html_page *page, FILE *output);

#endif
