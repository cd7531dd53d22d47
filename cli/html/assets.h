/* assets.h: the page's source files, which assets.S compiles in. Constants. */
#ifndef HK_CLI_HTML_ASSETS_H
#define HK_CLI_HTML_ASSETS_H

extern const char hk_html_page[], hk_html_page_end[];
extern const char hk_html_style[], hk_html_style_end[];
extern const char hk_html_script[], hk_html_script_end[];
extern const char hk_html_still_script[], hk_html_still_script_end[];
extern const char hk_html_live_script[], hk_html_live_script_end[];
extern const char hk_html_jobs_page[], hk_html_jobs_page_end[];
extern const char hk_html_jobs_script[], hk_html_jobs_script_end[];
extern const char hk_html_compare_page[], hk_html_compare_page_end[];
extern const char hk_html_compare_script[], hk_html_compare_script_end[];
extern const char hk_html_precision_page[], hk_html_precision_page_end[];
extern const char hk_html_precision_script[], hk_html_precision_script_end[];

#endif
