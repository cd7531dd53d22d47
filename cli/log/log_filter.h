/* log_filter.h: which calls `hookcli log --filter EXPR` shows.
 *
 *     EXPR:  TERM, not EXPR, EXPR and EXPR, EXPR or EXPR, (EXPR); `and` binds tighter than `or`
 *     TERM:  function|library|domain = PATTERN    (also !=; patterns as in hooks files)
 *            rank|thread = NUMBER                 (also != < <= > >=)
 *            duration > TIME                      (the same; with a unit: 1.5s, 200ms, 30us)
 *            error                                the call failed
 *            unwound                              the call never returned
 *
 * Plain values; a filter is read-only once parsed.
 */
#ifndef HK_CLI_LOG_LOG_FILTER_H
#define HK_CLI_LOG_LOG_FILTER_H

#include "cli/export/exporter.h"

struct hk_log_filter;

/* Parses EXPRESSION. Returns NULL if it is invalid, with the reason in WHY. */
#define HK_LOG_WHY_BYTES 160
struct hk_log_filter *hk_log_filter_new(const char *expression, char why[HK_LOG_WHY_BYTES]);

/* Frees a filter and returns NULL; accepts NULL. */
struct hk_log_filter *hk_log_filter_free(struct hk_log_filter *filter);

/* Returns whether FILTER lets SLICE of THREAD pass. NULL lets every call pass. */
bool hk_log_filter_pass(const struct hk_log_filter *filter, const struct hk_export_thread *thread,
			const struct hk_slice *slice);

#endif
