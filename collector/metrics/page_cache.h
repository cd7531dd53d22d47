/* page_cache.h: keeps pages of metrics, so that clients within a short time get the same page.
 *
 * A page is valid for a quarter of a second, or for 50 times the time to make it. So pages take a
 * small part of the thread's time for any number of clients. The collector's thread makes and frees
 * pages; other threads may read a page in use.
 */
#ifndef HK_COLLECTOR_METRICS_PAGE_CACHE_H
#define HK_COLLECTOR_METRICS_PAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/metrics/exposition.h"
#include "wire/access.h"

#define HK_PAGES 8u /* of different users and formats */

struct hk_collector;

/* Freed with its last use. */
struct hk_page {
	char *text;
	size_t size;
	uint32_t users;
	bool mapped; /* `text` is to be unmapped */
};

/* A zeroed one is empty. */
struct hk_page_cache {
	struct hk_cached_page {
		struct hk_page *page; /* NULL: none */
		char user[HK_ACCESS_USER_MAX + 1];
		enum hk_exposition_format format;
		uint64_t until_ns; /* good for requests before */
	} pages[HK_PAGES];
};

/* Returns the page of USER's jobs in FORMAT in *RET_PAGE, and makes it if there is no valid one.
 * The caller must release it. Returns 0 or -ENOMEM. */
int hk_page_cache_get(struct hk_page_cache *cache, struct hk_collector *collector, const char *user,
		      enum hk_exposition_format format, struct hk_page **ret_page);

/* Gives a use of PAGE back; accepts NULL. */
void hk_page_unref(struct hk_page *page);

/* Gives the cache's own uses back. */
void hk_page_cache_fini(struct hk_page_cache *cache);

#endif
