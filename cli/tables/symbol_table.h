/* symbol_table.h: calls and cost of every hooked symbol in every library that calls it, all ranks
 * together; those that were never called, too. */
#ifndef HK_CLI_TABLES_SYMBOL_TABLE_H
#define HK_CLI_TABLES_SYMBOL_TABLE_H

#include <stdio.h>

#include "report/model/report.h"
#include "schema/wire.pb-c.h"

struct hk_symbol_table;

/* The symbols of SNAPSHOT, whose rows are REPORT; both must outlive the table. -ENOMEM. */
int hk_symbol_table_new(const struct hk_report *report, const Hk__Snapshot *snapshot,
			struct hk_symbol_table **ret_table);
/* Frees; accepts NULL, returns NULL. */
struct hk_symbol_table *hk_symbol_table_free(struct hk_symbol_table *table);

/* Sums over libraries, then library by library, the dearest first. 0, -EIO or -ENOMEM. */
int hk_symbol_table_write_text(const struct hk_symbol_table *table, FILE *output, bool colour);
/* {"totals": [...], "symbols": [...]}. 0 or -EIO. */
int hk_symbol_table_write_json(const struct hk_symbol_table *table, FILE *output);
/* Library by library only. 0 or -EIO. */
int hk_symbol_table_write_csv(const struct hk_symbol_table *table, FILE *output);

#endif
