/* sqlite_file.h: a SQLite database in the making.
 *
 * It is written beside its place under a name of its own, in one transaction, and takes its place
 * when it is whole: nobody ever sees half of one, and what was there stays until then. Locked by
 * the caller. All functions return 0 or -errno, the first error sticks.
 */
#ifndef HK_CLI_EXPORT_SQLITE_SQLITE_FILE_H
#define HK_CLI_EXPORT_SQLITE_SQLITE_FILE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct hk_sqlite;

/* NULL: out of memory. */
struct hk_sqlite *hk_sqlite_new(void);
/* Takes away what was not finished; accepts NULL, returns NULL. */
struct hk_sqlite *hk_sqlite_free(struct hk_sqlite *file);

/* Begins the database that will be PATH. -EISDIR, -ENOTSUP: what is there is no
 * file. */
int hk_sqlite_open(struct hk_sqlite *file, const char *path);

/* Runs statements that have no result. */
int hk_sqlite_run(struct hk_sqlite *file, const char *statements);

/* A statement that inserts rows of COLUMNS values into TABLE; finalized by hk_sqlite_free, and
 * earlier by the caller with hk_sqlite_done. NULL: an error, which sticks. */
sqlite3_stmt *hk_sqlite_insert(struct hk_sqlite *file, const char *table, unsigned int columns);
void hk_sqlite_done(struct hk_sqlite *file, sqlite3_stmt *insert);

/* Inserts a row of values as FORMAT says, a letter each: i int64_t; u uint64_t, cut at 2^63 - 1; o
 * bool and uint64_t: NULL if false; t text, which may hold anything; x NULL, which takes none. */
int hk_sqlite_row(struct hk_sqlite *file, sqlite3_stmt *insert, const char *format, ...);

/* Inserts the row that was bound by hand. */
int hk_sqlite_step(struct hk_sqlite *file, sqlite3_stmt *insert);

/* The first error, or 0. */
int hk_sqlite_error(const struct hk_sqlite *file);

/* Ends the transaction and puts the database into its place. */
int hk_sqlite_finish(struct hk_sqlite *file);

#endif
