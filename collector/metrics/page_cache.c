#include "collector/metrics/page_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "collector/metrics/page.h"

#define FRESH_NS UINT64_C(250000000)
#define FRESH_SPACING 50u /* or this many times the time that the page took */

void hk_page_unref(struct hk_page *page)
{
	if (page && --page->users == 0) {
		if (page->mapped) {
			munmap(page->text, page->size);
		} else {
			free(page->text);
		}
		free(page);
	}
}

void hk_page_cache_fini(struct hk_page_cache *cache)
{
	for (size_t i = 0; i < HK_PAGES; i++) {
		hk_page_unref(cache->pages[i].page);
	}
}

static bool is_of(const struct hk_cached_page *cached, const char *user,
		  enum hk_exposition_format format)
{
	return cached->page && cached->format == format && strcmp(cached->user, user) == 0;
}

/* Returns the entry of USER's page in FORMAT, or the entry with the oldest page. */
static struct hk_cached_page *find(struct hk_page_cache *cache, const char *user,
				   enum hk_exposition_format format)
{
	struct hk_cached_page *oldest = &cache->pages[0];
	for (size_t i = 0; i < HK_PAGES; i++) {
		struct hk_cached_page *cached = &cache->pages[i];
		if (is_of(cached, user, format)) {
			return cached;
		}
		oldest = cached->until_ns < oldest->until_ns ? cached : oldest;
	}
	return oldest;
}

static int make(struct hk_cached_page *cached, struct hk_collector *collector, const char *user,
		enum hk_exposition_format format)
{
	uint64_t begin = hk_clock_monotonic_ns();
	struct hk_page *page = calloc(1, sizeof(*page));
	int r =
	    page ? hk_metrics_render(collector, user, format, &page->text, &page->size) : -ENOMEM;
	if (r < 0) {
		free(page);
		return r;
	}
	uint64_t now = hk_clock_monotonic_ns(), good = (now - begin) * FRESH_SPACING;
	page->users = 1;
	hk_page_unref(cached->page);
	cached->page = page;
	cached->format = format;
	snprintf(cached->user, sizeof(cached->user), "%s", user);
	cached->until_ns = now + (good > FRESH_NS ? good : FRESH_NS);
	return 0;
}

int hk_page_cache_get(struct hk_page_cache *cache, struct hk_collector *collector, const char *user,
		      enum hk_exposition_format format, struct hk_page **ret_page)
{
	struct hk_cached_page *cached = find(cache, user, format);
	bool fresh = is_of(cached, user, format) && hk_clock_monotonic_ns() < cached->until_ns;
	int r = fresh ? 0 : make(cached, collector, user, format);
	if (r == 0) {
		cached->page->users++;
		*ret_page = cached->page;
	}
	return r;
}
