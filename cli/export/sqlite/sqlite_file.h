/* sqlite_file.h: a SQLite database under construction. It is written in one transaction under a
 * temporary name beside its path, and renamed when it is whole, so readers never see a part of it.
 * Locked by the caller. All functions return 0 or -errno; the first error sticks. */
#ifndef HK_CLI_EXPORT_SQLITE_SQLITE_FILE_H
#define HK_CLI_EXPORT_SQLITE_SQLITE_FILE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct hk_sqlite;

/* Returns NULL without memory. */
struct hk_sqlite *hk_sqlite_new(void);
/* Frees FILE and removes an unfinished database. Accepts NULL, returns NULL. */
struct hk_sqlite *hk_sqlite_free(struct hk_sqlite *file);

/* Begins the database for PATH. Returns 0, or -EISDIR or -ENOTSUP if PATH is not a regular file. */
int hk_sqlite_open(struct hk_sqlite *file, const char *path);

/* Runs statements without results. */
int hk_sqlite_run(struct hk_sqlite *file, const char *statements);

/* Prepares a statement that inserts rows of COLUMNS values into TABLE. hk_sqlite_free finalizes it,
 * or hk_sqlite_done earlier. Returns NULL on an error, which sticks. */
sqlite3_stmt *hk_sqlite_insert(struct hk_sqlite *file, const char *table, unsigned int columns);
void hk_sqlite_done(struct hk_sqlite *file, sqlite3_stmt *insert);

/* Inserts a row of values by FORMAT, a letter each: i int64_t; u uint64_t, cut at 2^63 - 1; o bool
 * and uint64_t: NULL if false; t text of any bytes; x NULL, without an argument. */
int hk_sqlite_row(struct hk_sqlite *file, sqlite3_stmt *insert, const char *format, ...);

/* Inserts a row whose values the caller has bound. */
int hk_sqlite_step(struct hk_sqlite *file, sqlite3_stmt *insert);

/* Returns the first error, or 0. */
int hk_sqlite_error(const struct hk_sqlite *file);

/* Ends the transaction and renames the database to its path. */
int hk_sqlite_finish(struct hk_sqlite *file);

#endif
