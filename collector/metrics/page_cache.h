/* page_cache.h: pages of metrics that are made once for all who ask within a short time.
 *
 * A page is good for a quarter of a second, or for 50 times what it took to make, so that making
 * pages takes a small part of the thread's time, however many ask. The collector's thread makes and
 * frees pages; others may read one that is in use.
 */
#ifndef HK_COLLECTOR_METRICS_PAGE_CACHE_H
#define HK_COLLECTOR_METRICS_PAGE_CACHE_H

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

/* The page of USER's jobs in FORMAT, made if there is no fresh one. The caller has a use of it.
 * -ENOMEM. */
int hk_page_cache_get(struct hk_page_cache *cache, struct hk_collector *collector, const char *user,
		      enum hk_exposition_format format, struct hk_page **ret_page);

/* Gives a use of PAGE back; accepts NULL. */
void hk_page_unref(struct hk_page *page);

/* Gives the cache's own uses back. */
void hk_page_cache_fini(struct hk_page_cache *cache);

#endif
