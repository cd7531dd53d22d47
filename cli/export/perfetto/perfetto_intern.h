/* perfetto_intern.h: interned names of a packet sequence: functions, libraries, domains, names of
 * annotations. The first packet that uses a name carries its definition as its novelty; later ones
 * use its number. One thread. */
#ifndef HK_CLI_EXPORT_PERFETTO_PERFETTO_INTERN_H
#define HK_CLI_EXPORT_PERFETTO_PERFETTO_INTERN_H

#include "cli/export/exporter.h"
#include "hooks/hook.h"
#include "schema/perfetto.pb-c.h"

/* Interned ids of annotation names; a key's is HK_PERFETTO_NAME_KEY + its number. */
enum hk_perfetto_name {
	HK_PERFETTO_NAME_LIBRARY = 1,
	HK_PERFETTO_NAME_UNWOUND = 2,
	HK_PERFETTO_NAME_FAILED = 3,
	HK_PERFETTO_NAME_KEY = 3,
};

#define HK_PERFETTO_NAMES (HK_SLICE_WORDS + 3) /* most new names at once */

struct hk_perfetto_sequence;

/* All definitions that one event may carry; starts as HK_PERFETTO_NOVELTY. Points into itself: it
 * must not move. */
struct hk_perfetto_novelty {
	Hk__Perfetto__InternedData data;
	Hk__Perfetto__InternedName category, function, names[HK_PERFETTO_NAMES];
	Hk__Perfetto__InternedString library;
	Hk__Perfetto__InternedName *categories[1], *functions[1], *name_list[HK_PERFETTO_NAMES];
	Hk__Perfetto__InternedString *libraries[1];
};

#define HK_PERFETTO_NOVELTY                               \
	{                                                 \
		.data = HK__PERFETTO__INTERNED_DATA__INIT \
	}

/* NULL: out of memory. */
struct hk_perfetto_sequence *hk_perfetto_sequence_new(void);
/* Frees; accepts NULL. */
void hk_perfetto_sequence_free(struct hk_perfetto_sequence *sequence);

/* The common id of SITE's function, library and domain; new definitions go into NOVELTY. 0 if out
 * of memory. */
uint64_t hk_perfetto_intern_site(struct hk_perfetto_sequence *sequence,
				 const struct hk_export_site *site,
				 struct hk_perfetto_novelty *novelty);

/* The id of the name of KEY (enum hk_key), which has one; a new definition goes into NOVELTY. */
uint64_t hk_perfetto_intern_key(struct hk_perfetto_sequence *sequence, uint8_t key,
				struct hk_perfetto_novelty *novelty);

/* Whether the counter of SITE is new. Returns 1, 0 or -ENOMEM. */
int hk_perfetto_intern_counter(struct hk_perfetto_sequence *sequence,
			       const struct hk_export_site *site);

/* The definitions for the packet, or NULL if nothing is new. */
Hk__Perfetto__InternedData *hk_perfetto_novelty_data(struct hk_perfetto_novelty *novelty);

#endif
