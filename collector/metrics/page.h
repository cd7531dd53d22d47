/* page.h: the page that /metrics shows: the series of a walk as text. Used by the collector's
 * thread. */
#ifndef HK_COLLECTOR_METRICS_PAGE_H
#define HK_COLLECTOR_METRICS_PAGE_H

#include <stddef.h>

#include "collector/metrics/exposition.h"

struct hk_collector;

/* Makes the page of USER's jobs ("": all jobs) from the present values. The caller frees *RET_TEXT.
 * Returns 0 or -ENOMEM. */
int hk_metrics_render(struct hk_collector *collector, const char *user,
		      enum hk_exposition_format format, char **ret_text, size_t *ret_size);

#endif
