/* sqlite_schema.h: tables, indices and views of the SQLite export, described in SCHEMA.md. One
 * string of statements each; constant. */
#ifndef HK_CLI_EXPORT_SQLITE_SQLITE_SCHEMA_H
#define HK_CLI_EXPORT_SQLITE_SQLITE_SCHEMA_H

/* user_version of the file: rises when a table, a column or a view is removed or changes its
 * meaning. */
#define HK_SQLITE_VERSION 2

/* Of hk_sqlite_tables, columns of `calls` before those of the named values, which are followed by
 * `arguments` and `returned`. */
#define HK_SQLITE_CALL_COLUMNS 11u

extern const char hk_sqlite_tables[]; /* all but `calls` */
extern const char hk_sqlite_calls[];  /* the beginning of `calls`, up to its named values */
extern const char hk_sqlite_indices[];
extern const char hk_sqlite_views[];

#endif
