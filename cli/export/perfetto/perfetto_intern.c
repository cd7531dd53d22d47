#include "cli/export/perfetto/perfetto_intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/names.h"

#include <uthash.h>

#define COUNTER_DESCRIBED UINT32_MAX

struct stack {
	UT_hash_handle hh;
	uint32_t number;
	uint32_t id;
};

struct hk_perfetto_sequence {
	uint32_t *sites; /* by site index: its id, 0 not yet; of a counter COUNTER_DESCRIBED */
	uint32_t site_capacity;
	uint32_t next_id;
	bool keys[UINT8_MAX + 1];
	struct stack *stacks; /* by number */
};

struct hk_perfetto_sequence *hk_perfetto_sequence_new(void)
{
	struct hk_perfetto_sequence *sequence = calloc(1, sizeof(*sequence));

	if (sequence) {
		sequence->next_id = 1;
	}
	return sequence;
}

void hk_perfetto_sequence_free(struct hk_perfetto_sequence *sequence)
{
	struct stack *stack, *next;

	if (sequence) {
		HASH_ITER (hh, sequence->stacks, stack, next) {
			HASH_DEL(sequence->stacks, stack);
			free(stack);
		}
		free(sequence->sites);
		free(sequence);
	}
}

static void add_name(struct hk_perfetto_novelty *novelty, uint64_t id, const char *name)
{
	size_t at = novelty->data.n_debug_annotation_names++;

	hk__perfetto__interned_name__init(&novelty->names[at]);
	novelty->names[at].has_iid = 1;
	novelty->names[at].iid = id;
	novelty->names[at].name = (char *)name;
	novelty->name_list[at] = &novelty->names[at];
	novelty->data.debug_annotation_names = novelty->name_list;
}

static void add_string(struct hk_perfetto_novelty *novelty, Hk__Perfetto__InternedString *string,
		       uint64_t id, const char *text)
{
	hk__perfetto__interned_string__init(string);
	string->has_iid = string->has_str = 1;
	string->iid = id;
	string->str.data = (uint8_t *)text;
	string->str.len = strlen(text);
	novelty->strings[novelty->data.n_debug_annotation_string_values++] = string;
	novelty->data.debug_annotation_string_values = novelty->strings;
}

static void add_site(struct hk_perfetto_novelty *novelty, uint64_t id,
		     const struct hk_export_site *site)
{
	hk__perfetto__interned_name__init(&novelty->category);
	hk__perfetto__interned_name__init(&novelty->function);
	novelty->category.has_iid = novelty->function.has_iid = 1;
	novelty->category.iid = novelty->function.iid = id;
	novelty->category.name = (char *)site->domain;
	novelty->function.name = (char *)site->function;
	novelty->categories[0] = &novelty->category;
	novelty->functions[0] = &novelty->function;
	novelty->data.n_event_categories = novelty->data.n_event_names = 1;
	novelty->data.event_categories = novelty->categories;
	novelty->data.event_names = novelty->functions;
	add_string(novelty, &novelty->library, id, site->library);
}

static int reserve_site(struct hk_perfetto_sequence *sequence, const struct hk_export_site *site)
{
	uint32_t capacity = site->index + site->index / 2 + 16;
	uint32_t *sites;

	if (site->index < sequence->site_capacity) {
		return 0;
	}
	sites = reallocarray(sequence->sites, capacity, sizeof(*sites));
	if (!sites) {
		return -ENOMEM;
	}
	memset(sites + sequence->site_capacity, 0,
	       (capacity - sequence->site_capacity) * sizeof(*sites));
	sequence->sites = sites;
	sequence->site_capacity = capacity;
	return 0;
}

uint64_t hk_perfetto_intern_site(struct hk_perfetto_sequence *sequence,
				 const struct hk_export_site *site,
				 struct hk_perfetto_novelty *novelty)
{
	if (reserve_site(sequence, site) < 0) {
		return 0;
	}
	if (!sequence->sites[site->index]) {
		if (sequence->next_id == 1) {
			add_name(novelty, HK_PERFETTO_NAME_LIBRARY, "library");
			add_name(novelty, HK_PERFETTO_NAME_UNWOUND, "unwound");
			add_name(novelty, HK_PERFETTO_NAME_FAILED, "failed");
			add_name(novelty, HK_PERFETTO_NAME_STACK, "stack");
		}
		sequence->sites[site->index] = sequence->next_id++;
		add_site(novelty, sequence->sites[site->index], site);
	}
	return sequence->sites[site->index];
}

uint64_t hk_perfetto_find_stack(const struct hk_perfetto_sequence *sequence, uint32_t number)
{
	const struct stack *stack;

	HASH_FIND(hh, sequence->stacks, &number, sizeof(number), stack);
	return stack ? stack->id : 0;
}

uint64_t hk_perfetto_intern_stack(struct hk_perfetto_sequence *sequence, uint32_t number,
				  const char *text, struct hk_perfetto_novelty *novelty)
{
	struct stack *stack = calloc(1, sizeof(*stack));

	if (!stack) {
		return 0;
	}
	stack->number = number;
	stack->id = sequence->next_id;
	HASH_ADD(hh, sequence->stacks, number, sizeof(number), stack);
	if (!stack->hh.tbl) {
		free(stack);
		return 0;
	}
	add_string(novelty, &novelty->stack, sequence->next_id++, text);
	return stack->id;
}

uint64_t hk_perfetto_intern_key(struct hk_perfetto_sequence *sequence, uint8_t key,
				struct hk_perfetto_novelty *novelty)
{
	uint64_t id = (uint64_t)HK_PERFETTO_NAME_KEY + key;

	if (!sequence->keys[key]) {
		sequence->keys[key] = true;
		add_name(novelty, id, hk_key_name(key));
	}
	return id;
}

int hk_perfetto_intern_counter(struct hk_perfetto_sequence *sequence,
			       const struct hk_export_site *site)
{
	int rc = reserve_site(sequence, site);

	if (rc < 0 || sequence->sites[site->index]) {
		return rc;
	}
	sequence->sites[site->index] = COUNTER_DESCRIBED;
	return 1;
}

Hk__Perfetto__InternedData *hk_perfetto_novelty_data(struct hk_perfetto_novelty *novelty)
{
	return novelty->data.n_debug_annotation_string_values ||
		       novelty->data.n_debug_annotation_names
		   ? &novelty->data
		   : NULL;
}
