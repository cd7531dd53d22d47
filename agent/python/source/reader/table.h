/* table.h: rows as columns in Arrow's layout, in memory that several readers share.
 *
 * A table and its schema are counted; each holder releases its reference. They do not change once
 * they are shared. Counts are atomic, everything else is locked by the caller. */
#ifndef HK_READER_TABLE_H
#define HK_READER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types by their letters in Arrow: b bool, i int32, I uint32, l int64, L uint64, g double, u text.
 */
struct hk_field {
	char *name;
	char type;
	bool words; /* of type u: an int32 per row that numbers the texts of a dictionary */
	bool list;  /* a list of TYPE per row */
};

struct hk_schema {
	unsigned refs; /* atomic */
	size_t count;
	struct hk_field fields[];
};

/* Texts one behind the other: text i has the bytes from offsets[i] to offsets[i + 1]. */
struct hk_texts {
	unsigned refs; /* atomic */
	int64_t count;
	int32_t *offsets;
	char *bytes;
};

struct hk_column {
	int64_t length, nulls;
	uint8_t *valid;	  /* a bit per row; NULL: all rows are */
	int32_t *offsets; /* of texts and lists: length + 1 */
	void *data;	  /* values; bytes of texts; NULL for lists */
	struct hk_texts *words;
	struct hk_column *items; /* of lists */
};

struct hk_table {
	unsigned refs; /* atomic */
	struct hk_schema *schema;
	int64_t length;
	struct hk_column columns[]; /* as many as the schema has fields */
};

/* Makes a schema of COUNT fields, all zero; NULL if out of memory. The caller sets the fields,
 * whose names are freed with the schema. */
struct hk_schema *hk_schema_new(size_t count);
struct hk_schema *hk_schema_ref(struct hk_schema *schema);
void hk_schema_unref(struct hk_schema *schema); /* accepts NULL */

/* Makes texts of the offsets and bytes given, which it copies; NULL if out of memory. */
struct hk_texts *hk_texts_new(int64_t count, const int32_t *offsets, const char *bytes);
struct hk_texts *hk_texts_ref(struct hk_texts *texts);
void hk_texts_unref(struct hk_texts *texts); /* accepts NULL */

/* Makes a table of SCHEMA, of which it takes a reference, with empty columns; NULL if out of
 * memory. */
struct hk_table *hk_table_new(struct hk_schema *schema);
struct hk_table *hk_table_ref(struct hk_table *table);
void hk_table_unref(struct hk_table *table); /* accepts NULL */

/* Bytes of a value of TYPE in a column's data: 0 for bits and texts. */
size_t hk_type_bytes(char type);

#endif
