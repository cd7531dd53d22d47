#include "cli/export/pprof/pprof_tables.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

struct hk_pprof_text {
	UT_hash_handle hh;
	int64_t number;
	char bytes[];
};

/* A mapping by file name and build id, a function by its names and its file, or a location by
 * mapping, function, address and line. */
struct hk_pprof_entry {
	UT_hash_handle hh;
	uint64_t key[4];
	uint64_t number;
	uint64_t limit; /* of a mapping: behind its highest address */
	bool nameless;	/* of a mapping: some frames have no function */
};

/* ---- texts ---- */

static int append_text(struct hk_pprof_tables *tables, char *text)
{
	Hk__Pprof__Profile part = HK__PPROF__PROFILE__INIT;

	part.n_string_table = 1;
	part.string_table = &text;
	return hk_pprof_append(tables->file, &part);
}

static int64_t add_text(struct hk_pprof_tables *tables, const char *bytes)
{
	size_t length = strlen(bytes);
	struct hk_pprof_text *text = calloc(1, sizeof(*text) + length + 1);

	if (!text) {
		return -ENOMEM;
	}
	memcpy(text->bytes, bytes, length);
	text->number = HASH_COUNT(tables->texts);
	HASH_ADD_KEYPTR(hh, tables->texts, text->bytes, length, text);
	if (!text->hh.tbl) {
		free(text);
		return -ENOMEM;
	}
	int rc = append_text(tables, text->bytes);

	return rc < 0 ? rc : text->number;
}

int64_t hk_pprof_text(struct hk_pprof_tables *tables, const char *bytes)
{
	struct hk_pprof_text *text;

	if (!tables->texts) {
		int64_t rc = add_text(tables, "");

		if (rc < 0) {
			return rc;
		}
	}
	HASH_FIND_STR(tables->texts, bytes, text);
	return text ? text->number : add_text(tables, bytes);
}

/* ---- entries ---- */

/* Returns the entry of KEY in TABLE, NULL without memory. *ret_new: it was not there before. */
static struct hk_pprof_entry *entry_of(struct hk_pprof_entry **table, const uint64_t key[4],
				       bool *ret_new)
{
	struct hk_pprof_entry *entry;

	HASH_FIND(hh, *table, key, sizeof(entry->key), entry);
	*ret_new = !entry;
	if (entry) {
		return entry;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry) {
		return NULL;
	}
	memcpy(entry->key, key, sizeof(entry->key));
	entry->number = HASH_COUNT(*table) + 1;
	HASH_ADD(hh, *table, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	return entry;
}

uint64_t hk_pprof_number(const struct hk_pprof_entry *entry)
{
	return entry->number;
}

static struct hk_pprof_entry *mapping_of(struct hk_pprof_tables *tables, const char *path,
					 const char *build_id)
{
	int64_t name = hk_pprof_text(tables, path), id = hk_pprof_text(tables, build_id);
	const uint64_t key[4] = {(uint64_t)name, (uint64_t)id};
	bool new;

	return name < 0 || id < 0 ? NULL : entry_of(&tables->mappings, key, &new);
}

static struct hk_pprof_entry *function_of(struct hk_pprof_tables *tables,
					  const struct hk_pprof_frame *frame)
{
	int64_t text = hk_pprof_text(tables, frame->name);
	int64_t system = hk_pprof_text(tables, frame->system_name);
	int64_t file = hk_pprof_text(tables, frame->file);
	const uint64_t key[4] = {(uint64_t)text, (uint64_t)system, (uint64_t)file};
	Hk__Pprof__Function function = HK__PPROF__FUNCTION__INIT, *functions[] = {&function};
	Hk__Pprof__Profile part = HK__PPROF__PROFILE__INIT;
	bool new;

	if (text < 0 || system < 0 || file < 0) {
		return NULL;
	}
	struct hk_pprof_entry *entry = entry_of(&tables->functions, key, &new);
	if (!entry || !new) {
		return entry;
	}
	function.id = entry->number;
	function.name = text;
	function.system_name = system;
	function.filename = file;
	part.n_function = 1;
	part.function = functions;
	return hk_pprof_append(tables->file, &part) < 0 ? NULL : entry;
}

/* KEY is as of a location. */
static int append_location(struct hk_pprof_tables *tables, uint64_t number, const uint64_t key[4])
{
	Hk__Pprof__Location location = HK__PPROF__LOCATION__INIT, *locations[] = {&location};
	Hk__Pprof__Line line = HK__PPROF__LINE__INIT, *lines[] = {&line};
	Hk__Pprof__Profile part = HK__PPROF__PROFILE__INIT;

	location.id = number;
	location.mapping_id = key[0];
	location.address = key[2];
	line.function_id = key[1];
	line.line = (int64_t)key[3];
	location.n_line = key[1] != 0;
	location.line = lines;
	part.n_location = 1;
	part.location = locations;
	return hk_pprof_append(tables->file, &part);
}

const struct hk_pprof_entry *hk_pprof_location(struct hk_pprof_tables *tables,
					       const struct hk_pprof_frame *frame)
{
	bool placed = *frame->path, named = *frame->name, new;
	struct hk_pprof_entry *mapping =
	    placed ? mapping_of(tables, frame->path, frame->build_id) : NULL;
	struct hk_pprof_entry *function = named ? function_of(tables, frame) : NULL;

	if ((placed && !mapping) || (named && !function)) {
		return NULL;
	}
	if (mapping) {
		uint64_t limit = frame->address < UINT64_MAX ? frame->address + 1 : UINT64_MAX;
		mapping->limit = limit > mapping->limit ? limit : mapping->limit;
		mapping->nameless |= !named;
	}
	const uint64_t key[4] = {mapping ? mapping->number : 0, function ? function->number : 0,
				 frame->address, frame->line};
	struct hk_pprof_entry *entry = entry_of(&tables->locations, key, &new);
	if (!entry || !new) {
		return entry;
	}
	return append_location(tables, entry->number, key) < 0 ? NULL : entry;
}

int hk_pprof_write_mappings(struct hk_pprof_tables *tables)
{
	struct hk_pprof_entry *entry, *next;
	int rc = 0;

	HASH_ITER (hh, tables->mappings, entry, next) {
		Hk__Pprof__Mapping mapping = HK__PPROF__MAPPING__INIT, *mappings[] = {&mapping};
		Hk__Pprof__Profile part = HK__PPROF__PROFILE__INIT;

		mapping.id = entry->number;
		mapping.memory_limit = entry->limit;
		mapping.filename = (int64_t)entry->key[0];
		mapping.build_id = (int64_t)entry->key[1];
		mapping.has_functions = !entry->nameless;
		part.n_mapping = 1;
		part.mapping = mappings;
		rc = rc < 0 ? rc : hk_pprof_append(tables->file, &part);
	}
	return rc;
}

static void free_entries(struct hk_pprof_entry *table)
{
	struct hk_pprof_entry *entry, *next;

	HASH_ITER (hh, table, entry, next) {
		HASH_DEL(table, entry);
		free(entry);
	}
}

void hk_pprof_tables_fini(struct hk_pprof_tables *tables)
{
	struct hk_pprof_text *text, *next;

	HASH_ITER (hh, tables->texts, text, next) {
		HASH_DEL(tables->texts, text);
		free(text);
	}
	free_entries(tables->mappings);
	free_entries(tables->functions);
	free_entries(tables->locations);
}
