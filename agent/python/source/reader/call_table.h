/* call_table.h: builds tables of calls, row by row. Locked by the caller. */
#ifndef HK_READER_CALL_TABLE_H
#define HK_READER_CALL_TABLE_H

#include "call_columns.h"
#include "timeline/call.h"

struct hk_call_table;

/* Makes a builder of tables with COLUMNS (enum hk_call_column), each at most once. A table has room
 * for ROWS rows, and grows beyond if it must. PROCESSES limits the `index` of processes. ORIGIN_NS
 * is the Unix time of the job's start. NULL if out of memory. */
struct hk_call_table *hk_call_table_new(const uint16_t *columns, size_t count, size_t rows,
					size_t processes, uint64_t origin_ns);
/* Frees TABLE; accepts NULL. Threads keep a pointer that the caller frees before:
 * hk_call_table_forget. */
void hk_call_table_free(struct hk_call_table *table);
void hk_call_table_forget(struct hk_export_thread *thread);

struct hk_schema *hk_call_table_schema(const struct hk_call_table *table);

/* Adds a call with DEPTH calls around it. Returns 0, -ENOMEM, or -EFBIG if a column has too many
 * texts. */
int hk_call_table_add(struct hk_call_table *table, struct hk_export_thread *thread,
		      const struct hk_slice *slice, uint32_t depth);

/* Rows since the last take. */
size_t hk_call_table_rows(const struct hk_call_table *table);

/* Returns whether the table should be taken: it has its rows, or much text. */
bool hk_call_table_is_full(const struct hk_call_table *table);

/* Gives the rows as a table, and begins the next one. Returns 0 or -ENOMEM. */
int hk_call_table_take(struct hk_call_table *table, struct hk_table **ret_table);

#endif
