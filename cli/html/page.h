/* page.h: a page as one file: source, style, scripts and one JSON document. In the source,
 * <!--hk:style-->, <!--hk:script--> and <!--hk:data--> are replaced by these, <!--hk:connect--> by
 * what the page may connect to. Main thread only. */
#ifndef HK_CLI_HTML_PAGE_H
#define HK_CLI_HTML_PAGE_H

#include <stdbool.h>
#include <stdio.h>

struct hk_html_page {
	const char *source, *source_end;
	const char *script, *script_end;
	const char *start, *start_end; /* script that comes last; NULL: none */
	bool live;		       /* it asks the server that it came from */
	/* Writes the document about SUBJECT, independent of the page around it. NULL: the page
	 * has none. */
	int (*data)(const void *subject, FILE *output);
	const void *subject;
};

/* Writes PAGE. Returns 0, -EIO, -ENOMEM, or the result of its data function. */
int hk_html_page_write(const struct hk_html_page *page, FILE *output);

#endif
