#include "collector/agreement/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/hook.h"

#define DIGESTS_KEPT 8192u /* of a group: 64 KiB */
#define STEPS_MOST 64u
#define STEPS_LEAST 4u

enum use { USE_NONE = 0, USE_DIGEST, USE_END };

struct site {
	uint64_t name; /* digest of the value's name */
	uint8_t use;   /* enum use */
	uint8_t group;
};

/* A group, and the values of its step under way. */
struct group {
	char *text;
	uint64_t step;
	size_t count; /* more than HK_AGREEMENT_TENSORS: too many */
	uint64_t *digests;
	uint32_t *sites;
	uint32_t commits; /* steps kept so far */
};

struct hk_rows {
	struct hk_rows_options options;
	uint32_t first, next; /* site[i] is site first + i; sites from `next` on are new */
	struct site *sites;   /* up to `next`; none before the first with digests */
	size_t room;	      /* of `sites` */
	struct group groups[HK_AGREEMENT_GROUPS];
	size_t group_count;
};

size_t hk_rows_steps(size_t count)
{
	size_t steps = DIGESTS_KEPT / (count ? count : 1);

	steps = steps < STEPS_MOST ? steps : STEPS_MOST;
	return steps > STEPS_LEAST ? steps : STEPS_LEAST;
}

struct hk_rows *hk_rows_new(const struct hk_rows_options *options)
{
	struct hk_rows *rows = calloc(1, sizeof(*rows));

	if (rows) {
		rows->options = *options;
	}
	return rows;
}

struct hk_rows *hk_rows_free(struct hk_rows *rows)
{
	for (size_t i = 0; rows && i < rows->group_count; i++) {
		free(rows->groups[i].text);
		free(rows->groups[i].digests);
		free(rows->groups[i].sites);
	}
	if (rows) {
		free(rows->sites);
	}
	free(rows);
	return NULL;
}

/* ---- sites ---- */

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 14695981039346656037ULL;

	while (*text) {
		hash = (hash ^ (uint8_t)*text++) * 1099511628211ULL;
	}
	return hash;
}

static enum use use_of(const struct hk_chunk_site *site)
{
	if (strcmp(site->domain, HK_AGREEMENT_DOMAIN) != 0 || site->key_count < 2 ||
	    site->keys[0] != HK_KEY_STEP) {
		return USE_NONE;
	}
	bool end =
	    site->key_count == 3 && site->keys[1] == HK_KEY_COUNT && site->keys[2] == HK_KEY_EPOCH;
	return end ? USE_END : site->keys[1] == HK_KEY_DIGEST ? USE_DIGEST : USE_NONE;
}

/* Returns the number of the group called TEXT, or HK_AGREEMENT_GROUPS if there is no room for it.
 */
static size_t group_of(struct hk_rows *rows, const char *text)
{
	size_t at = 0;

	while (at < rows->group_count && strcmp(rows->groups[at].text, text) != 0) {
		at++;
	}
	if (at == rows->group_count && at < HK_AGREEMENT_GROUPS) {
		struct group group = {
		    .text = strdup(text),
		    .digests = calloc(HK_AGREEMENT_TENSORS, sizeof(uint64_t)),
		    .sites = calloc(HK_AGREEMENT_TENSORS, sizeof(uint32_t)),
		};
		if (!group.text || !group.digests || !group.sites) {
			free(group.text);
			free(group.digests);
			free(group.sites);
			return HK_AGREEMENT_GROUPS;
		}
		rows->groups[rows->group_count++] = group;
	}
	return at;
}

/* Keeps what SITE is. Sites before the first with digests take no memory. */
static bool note_site(struct hk_rows *rows, const struct hk_chunk_site *site)
{
	enum use use = use_of(site);
	size_t at = rows->next - rows->first;

	if (!rows->sites && use == USE_NONE) {
		return true;
	}
	if (!rows->sites) {
		rows->first = rows->next;
		at = 0;
	}
	if (at >= rows->room) {
		size_t room = rows->room ? 2 * rows->room : 64;
		struct site *sites = reallocarray(rows->sites, room, sizeof(*sites));
		if (!sites) {
			return false;
		}
		rows->sites = sites;
		rows->room = room;
	}
	size_t group = use == USE_NONE ? HK_AGREEMENT_GROUPS : group_of(rows, site->library);
	rows->sites[at] = (struct site){
	    .use = (uint8_t)(group < HK_AGREEMENT_GROUPS ? use : USE_NONE),
	    .group = (uint8_t)group,
	    .name = use == USE_NONE ? 0 : hash_of(site->function),
	};
	return true;
}

bool hk_rows_wanted(struct hk_rows *rows)
{
	struct hk_chunk_site site = {0};

	while (rows->next < HK_CHUNK_SITES_MAX &&
	       rows->options.site(rows->options.context, rows->next, &site) == 0 &&
	       note_site(rows, &site)) {
		rows->next++;
	}
	return rows->group_count > 0;
}

/* ---- rows ---- */

static Hk__Agreed *row_at(Hk__Process *state, const char *group, uint32_t slot)
{
	for (size_t i = 0; i < state->n_agreed; i++) {
		Hk__Agreed *row = state->agreed[i];
		if (row->slot == slot && strcmp(row->group, group) == 0) {
			return row;
		}
	}
	return NULL;
}

/* Returns the row of GROUP in SLOT with room for COUNT values, or NULL if out of memory. */
static Hk__Agreed *make_row(Hk__Process *state, const char *group, uint32_t slot, size_t count)
{
	Hk__Agreed *row = calloc(1, sizeof(*row));

	if (!row) {
		return NULL;
	}
	hk__agreed__init(row);
	row->group = strdup(group);
	row->digests = calloc(count, sizeof(*row->digests));
	row->sites = calloc(count, sizeof(*row->sites));
	row->slot = slot;
	Hk__Agreed *old = row_at(state, group, slot);
	Hk__Agreed **list =
	    old ? state->agreed : reallocarray(state->agreed, state->n_agreed + 1, sizeof(*list));
	if (!row->group || !row->digests || !row->sites || !list) {
		row->group = row->group ? row->group : (char *)protobuf_c_empty_string;
		hk__agreed__free_unpacked(row, NULL);
		return NULL;
	}
	row->n_digests = row->n_sites = count;
	state->agreed = list;
	if (!old) {
		list[state->n_agreed++] = row;
		return row;
	}
	Hk__Agreed replaced = *old;
	*old = *row;
	*row = replaced;
	hk__agreed__free_unpacked(row, NULL);
	return old;
}

/* Keeps the values of GROUP, which are all there, for its step of EPOCH. */
static int keep(struct hk_rows *rows, struct group *group, uint64_t epoch)
{
	uint32_t slot = group->commits % (uint32_t)hk_rows_steps(group->count);
	Hk__Agreed *row = make_row(rows->options.state, group->text, slot, group->count);

	if (!row) {
		return -ENOMEM;
	}
	group->commits++;
	row->step = group->step;
	row->epoch = epoch;
	memcpy(row->digests, group->digests, group->count * sizeof(*row->digests));
	memcpy(row->sites, group->sites, group->count * sizeof(*row->sites));
	for (size_t i = 0; i < group->count; i++) {
		uint64_t name = rows->sites[group->sites[i] - rows->first].name;
		row->names = (row->names ^ name) * 1099511628211ULL + i;
	}
	return 0;
}

static void add_digest(struct group *group, uint32_t site, uint64_t step, uint64_t digest)
{
	if (group->count == 0 || group->step != step) {
		group->step = step;
		group->count = 0;
	}
	if (group->count < HK_AGREEMENT_TENSORS) {
		group->sites[group->count] = site;
		group->digests[group->count] = digest;
	}
	group->count += group->count <= HK_AGREEMENT_TENSORS;
}

int hk_rows_add(struct hk_rows *rows, const struct hk_record *record)
{
	uint32_t at = record->site - rows->first;

	if (record->site < rows->first || record->site >= rows->next ||
	    record->kind != HK_CHUNK_KIND_CALL || rows->sites[at].use == USE_NONE) {
		return 0;
	}
	struct group *group = &rows->groups[rows->sites[at].group];
	if (rows->sites[at].use == USE_DIGEST && record->word_count >= 2) {
		add_digest(group, record->site, record->words[0], record->words[1]);
	}
	if (rows->sites[at].use != USE_END || record->word_count < 3) {
		return 0;
	}
	bool whole = group->count > 0 && group->count <= HK_AGREEMENT_TENSORS &&
		     group->step == record->words[0] && group->count == record->words[1];
	int r = whole ? keep(rows, group, record->words[2]) : 0;
	group->count = 0;
	return r;
}
