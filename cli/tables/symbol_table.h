/* symbol_table.h: calls and cost of every hooked symbol in every calling library, all ranks
 * together, including symbols without calls. */
#ifndef HK_CLI_TABLES_SYMBOL_TABLE_H
#define HK_CLI_TABLES_SYMBOL_TABLE_H

#include <stdio.h>

#include "report/model/report.h"
#include "schema/wire.pb-c.h"

struct hk_symbol_table;

/* Sums the symbols of SNAPSHOT and its REPORT, which must both outlive the table. Returns 0 or
 * -ENOMEM. */
int hk_symbol_table_new(const struct hk_report *report, const Hk__Snapshot *snapshot,
			struct hk_symbol_table **ret_table);
/* Frees TABLE. Accepts NULL, returns NULL. */
struct hk_symbol_table *hk_symbol_table_free(struct hk_symbol_table *table);

/* Writes sums over libraries, then library by library, the most expensive first. Returns 0, -EIO or
 * -ENOMEM. */
int hk_symbol_table_write_text(const struct hk_symbol_table *table, FILE *output, bool colour);
/* Writes {"totals": [...], "symbols": [...]}. Returns 0 or -EIO. */
int hk_symbol_table_write_json(const struct hk_symbol_table *table, FILE *output);
/* Writes library by library only. Returns 0 or -EIO. */
int hk_symbol_table_write_csv(const struct hk_symbol_table *table, FILE *output);

#endif
