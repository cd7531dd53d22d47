/* window.h: the collectives that not all ranks have entered, for the files of a matcher only.
 *
 * A collective is an entry. The oldest entry is pushed out for a new one. One thread.
 */
#ifndef HK_COLLECTOR_ARRIVAL_WINDOW_H
#define HK_COLLECTOR_ARRIVAL_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/arrival/matcher_tables.h"

/* Returns the entry of call NUMBER of KIND, or NULL if the window does not have it. */
struct hk_matcher_entry *hk_matcher_find(const struct hk_matcher *matcher,
					 const struct hk_matcher_kind *kind, uint64_t number);

/* Makes the entry of call NUMBER of KIND. Returns NULL without memory or room. */
struct hk_matcher_entry *hk_matcher_open(struct hk_matcher *matcher, struct hk_matcher_kind *kind,
					 uint64_t number);

/* Makes room for one more part of ENTRY. Returns false without memory or room. */
bool hk_matcher_grow(struct hk_matcher *matcher, struct hk_matcher_entry *entry);

/* Adds ENTRY to the sums and frees it, if all ranks have entered it. */
void hk_matcher_complete(struct hk_matcher *matcher, struct hk_matcher_entry *entry);

/* Frees ENTRY. It does not count. */
void hk_matcher_drop(struct hk_matcher *matcher, struct hk_matcher_entry *entry);

#endif
