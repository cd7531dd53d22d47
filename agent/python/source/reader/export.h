/* export.h: tables as structures of the Arrow C data interface. What is exported holds references
 * and may be used and released on any thread, without Python. */
#ifndef HK_READER_EXPORT_H
#define HK_READER_EXPORT_H

#include "arrow.h"
#include "table.h"

/* Export a struct whose children are the columns. Return 0 or -ENOMEM. */
int hk_export_schema(const struct hk_schema *schema, struct ArrowSchema *ret_schema);
int hk_export_table(struct hk_table *table, struct ArrowArray *ret_array);

/* Where the tables of a stream come from. NEXT sets *RET_TABLE to a new reference; it returns 1, 0
 * at the end, or -errno. */
struct hk_export_source {
	int (*next)(void *context, struct hk_table **ret_table);
	void (*free)(void *context);
	void *context;
};

/* Exports the tables of SOURCE, which the stream frees. It has a reference to SCHEMA. Returns 0, or
 * -ENOMEM, and SOURCE stays the caller's. */
int hk_export_stream(struct hk_schema *schema, const struct hk_export_source *source,
		     struct ArrowArrayStream *ret_stream);

#endif
