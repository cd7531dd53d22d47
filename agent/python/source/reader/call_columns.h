/* call_columns.h: the columns that a table of calls may have: those of hookcli export --format csv,
 * and the depth. Pure functions of constant data. */
#ifndef HK_READER_CALL_COLUMNS_H
#define HK_READER_CALL_COLUMNS_H

#include <stdint.h>

#include "table.h"

enum hk_call_column {
	HK_CALL_RANK,
	HK_CALL_ROLE,
	HK_CALL_HOST,
	HK_CALL_PID,
	HK_CALL_TID,
	HK_CALL_THREAD,
	HK_CALL_START,
	HK_CALL_DURATION,
	HK_CALL_DEPTH,
	HK_CALL_DOMAIN,
	HK_CALL_FUNCTION,
	HK_CALL_LIBRARY,
	HK_CALL_FAILED,
	HK_CALL_UNWOUND,
	HK_CALL_ARGUMENTS,
	HK_CALL_RETURNED,
	HK_CALL_VALUE, /* and up: the named value of key (column - HK_CALL_VALUE) */
};
#define HK_CALL_COLUMNS (HK_CALL_VALUE + 256)

/* Returns the column called NAME, or -1. */
int hk_call_column_find(const char *name);

/* Returns whether COLUMN exists: not every key has a value that is shown. */
bool hk_call_column_exists(int column);

/* Writes the name of COLUMN to NAME. */
#define HK_CALL_COLUMN_BYTES 32u
void hk_call_column_name(int column, char name[HK_CALL_COLUMN_BYTES]);

/* Returns the type of COLUMN, a letter of struct hk_field, and whether it has a dictionary. */
char hk_call_column_type(int column, bool *ret_words);

#endif
