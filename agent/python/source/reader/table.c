#include "table.h"

#include <stdlib.h>
#include <string.h>

static void ref(unsigned *refs)
{
	__atomic_add_fetch(refs, 1, __ATOMIC_RELAXED);
}

/* Returns whether that was the last reference. */
static bool unref(unsigned *refs)
{
	return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0;
}

struct hk_schema *hk_schema_new(size_t count)
{
	struct hk_schema *schema = calloc(1, sizeof(*schema) + count * sizeof(schema->fields[0]));

	if (schema) {
		schema->refs = 1;
		schema->count = count;
	}
	return schema;
}

struct hk_schema *hk_schema_ref(struct hk_schema *schema)
{
	ref(&schema->refs);
	return schema;
}

void hk_schema_unref(struct hk_schema *schema)
{
	if (!schema || !unref(&schema->refs)) {
		return;
	}
	for (size_t i = 0; i < schema->count; i++) {
		free(schema->fields[i].name);
	}
	free(schema);
}

struct hk_texts *hk_texts_new(int64_t count, const int32_t *offsets, const char *bytes)
{
	struct hk_texts *texts = calloc(1, sizeof(*texts));
	size_t size = (size_t)offsets[count];

	if (!texts) {
		return NULL;
	}
	texts->refs = 1;
	texts->count = count;
	texts->offsets = calloc((size_t)count + 1, sizeof(*offsets));
	texts->bytes = malloc(size + 1);
	if (!texts->offsets || !texts->bytes) {
		hk_texts_unref(texts);
		return NULL;
	}
	memcpy(texts->offsets, offsets, ((size_t)count + 1) * sizeof(*offsets));
	if (size) {
		memcpy(texts->bytes, bytes, size);
	}
	return texts;
}

struct hk_texts *hk_texts_ref(struct hk_texts *texts)
{
	ref(&texts->refs);
	return texts;
}

void hk_texts_unref(struct hk_texts *texts)
{
	if (texts && unref(&texts->refs)) {
		free(texts->offsets);
		free(texts->bytes);
		free(texts);
	}
}

static void column_fini(struct hk_column *column)
{
	free(column->valid);
	free(column->offsets);
	free(column->data);
	hk_texts_unref(column->words);
	if (column->items) {
		column_fini(column->items);
		free(column->items);
	}
}

struct hk_table *hk_table_new(struct hk_schema *schema)
{
	struct hk_table *table =
	    calloc(1, sizeof(*table) + schema->count * sizeof(table->columns[0]));

	if (table) {
		table->refs = 1;
		table->schema = hk_schema_ref(schema);
	}
	return table;
}

struct hk_table *hk_table_ref(struct hk_table *table)
{
	ref(&table->refs);
	return table;
}

void hk_table_unref(struct hk_table *table)
{
	if (!table || !unref(&table->refs)) {
		return;
	}
	for (size_t i = 0; i < table->schema->count; i++) {
		column_fini(&table->columns[i]);
	}
	hk_schema_unref(table->schema);
	free(table);
}

size_t hk_type_bytes(char type)
{
	switch (type) {
	case 'i':
	case 'I':
		return 4;
	case 'l':
	case 'L':
	case 'g':
		return 8;
	default:
		return 0;
	}
}
