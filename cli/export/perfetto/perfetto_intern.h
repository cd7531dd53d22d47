/* perfetto_intern.h: interned names of a packet sequence: functions, libraries, domains, names of
 * annotations. The first packet that uses a name carries its definition as its novelty; later ones
 * use its number. One thread. */
#ifndef HK_CLI_EXPORT_PERFETTO_PERFETTO_INTERN_H
#define HK_CLI_EXPORT_PERFETTO_PERFETTO_INTERN_H

#include "cli/export/exporter.h"
#include "hooks/hook.h"
#include "schema/perfetto.pb-c.h"

/* Interned ids of annotation names. Keys follow the last one: a key's id is HK_PERFETTO_NAME_KEY +
 * its number, from 1. */
enum hk_perfetto_name {
	HK_PERFETTO_NAME_LIBRARY = 1,
	HK_PERFETTO_NAME_UNWOUND,
	HK_PERFETTO_NAME_FAILED,
	HK_PERFETTO_NAME_STACK,
	HK_PERFETTO_NAME_KEY = HK_PERFETTO_NAME_STACK,
};

#define HK_PERFETTO_NAMES (HK_SLICE_WORDS + HK_PERFETTO_NAME_KEY) /* most new names at once */

struct hk_perfetto_sequence;

/* All definitions that one event may carry, initialized with HK_PERFETTO_NOVELTY. The struct points
 * into itself, so it must not move. */
struct hk_perfetto_novelty {
	Hk__Perfetto__InternedData data;
	Hk__Perfetto__InternedName category, function, names[HK_PERFETTO_NAMES];
	Hk__Perfetto__InternedString library, stack;
	Hk__Perfetto__InternedName *categories[1], *functions[1], *name_list[HK_PERFETTO_NAMES];
	Hk__Perfetto__InternedString *strings[2];
};

#define HK_PERFETTO_NOVELTY                               \
	{                                                 \
		.data = HK__PERFETTO__INTERNED_DATA__INIT \
	}

/* Returns NULL without memory. */
struct hk_perfetto_sequence *hk_perfetto_sequence_new(void);
/* Frees SEQUENCE. Accepts NULL. */
void hk_perfetto_sequence_free(struct hk_perfetto_sequence *sequence);

/* Returns the common id of SITE's function, library and domain, or 0 without memory. Adds new
 * definitions to NOVELTY. */
uint64_t hk_perfetto_intern_site(struct hk_perfetto_sequence *sequence,
				 const struct hk_export_site *site,
				 struct hk_perfetto_novelty *novelty);

/* Returns the id of stack NUMBER of the thread's process, or 0 if it has none yet. */
uint64_t hk_perfetto_find_stack(const struct hk_perfetto_sequence *sequence, uint32_t number);

/* Returns the new id of stack NUMBER, or 0 without memory. Adds TEXT to NOVELTY, which refers to
 * it. */
uint64_t hk_perfetto_intern_stack(struct hk_perfetto_sequence *sequence, uint32_t number,
				  const char *text, struct hk_perfetto_novelty *novelty);

/* Returns the id of the name of KEY (enum hk_key), which has one. Adds a new definition to
 * NOVELTY. */
uint64_t hk_perfetto_intern_key(struct hk_perfetto_sequence *sequence, uint8_t key,
				struct hk_perfetto_novelty *novelty);

/* Returns 1 if the counter of SITE is new, 0 if not, or -ENOMEM. */
int hk_perfetto_intern_counter(struct hk_perfetto_sequence *sequence,
			       const struct hk_export_site *site);

/* Returns the definitions for the packet, or NULL if nothing is new. */
Hk__Perfetto__InternedData *hk_perfetto_novelty_data(struct hk_perfetto_novelty *novelty);

#endif
