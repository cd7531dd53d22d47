#include "cli/export/sqlite/sqlite_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/atomic_file.h"
#include "text/name.h"

/* The file is private until it is whole, and worthless before: no journal, no fsync. */
#define PRAGMAS                                                                   \
	"PRAGMA page_size=8192; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" \
	"PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536; PRAGMA foreign_keys=OFF;"

struct hk_sqlite {
	sqlite3 *database;
	struct hk_atomic_file partial;
	int error;
};

struct hk_sqlite *hk_sqlite_new(void)
{
	return calloc(1, sizeof(struct hk_sqlite));
}

struct hk_sqlite *hk_sqlite_free(struct hk_sqlite *file)
{
	sqlite3_stmt *statement;

	if (!file) {
		return NULL;
	}
	while (file->database && (statement = sqlite3_next_stmt(file->database, NULL))) {
		sqlite3_finalize(statement);
	}
	sqlite3_close(file->database);
	hk_atomic_file_discard(&file->partial);
	free(file);
	return NULL;
}

int hk_sqlite_error(const struct hk_sqlite *file)
{
	return file->error;
}

/* Converts SQLite's CODE to an errno and keeps the first one. */
static int note(struct hk_sqlite *file, int code)
{
	int reason = 0;

	if (code == SQLITE_OK || code == SQLITE_DONE || file->error) {
		return file->error;
	}
	switch (code & 0xff) {
	case SQLITE_NOMEM:
		file->error = -ENOMEM;
		break;
	case SQLITE_FULL:
		file->error = -ENOSPC;
		break;
	case SQLITE_IOERR:
		sqlite3_file_control(file->database, "main", SQLITE_FCNTL_LAST_ERRNO, &reason);
		file->error = reason > 0 ? -reason : -EIO;
		break;
	default:
		file->error = -EIO;
		hk_error("%s: %s", file->partial.path,
			 file->database ? sqlite3_errmsg(file->database) : sqlite3_errstr(code));
	}
	return file->error;
}

/* ---- the file ---- */

int hk_sqlite_open(struct hk_sqlite *file, const char *path)
{
	int fd = hk_atomic_file_open_named(&file->partial, path);

	if (fd < 0) {
		file->error = fd;
		return fd;
	}
	close(fd);
	note(file, sqlite3_open_v2(file->partial.partial, &file->database,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
	return hk_sqlite_run(file, PRAGMAS "BEGIN;");
}

int hk_sqlite_finish(struct hk_sqlite *file)
{
	hk_sqlite_run(file, "COMMIT;");
	if (file->error < 0) {
		return file->error;
	}
	note(file, sqlite3_close(file->database));
	file->database = NULL;
	file->error = file->error ? file->error : hk_atomic_file_publish(&file->partial);
	return file->error;
}

/* ---- rows ---- */

int hk_sqlite_run(struct hk_sqlite *file, const char *statements)
{
	return file->error ? file->error
			   : note(file, sqlite3_exec(file->database, statements, NULL, NULL, NULL));
}

sqlite3_stmt *hk_sqlite_insert(struct hk_sqlite *file, const char *table, unsigned int columns)
{
	sqlite3_stmt *insert = NULL;
	char text[512];
	int length = snprintf(text, sizeof(text), "INSERT INTO %s VALUES (", table);

	if (file->error || (size_t)length + 2u * columns >= sizeof(text)) {
		return NULL;
	}
	for (unsigned int i = 0; i < columns; i++) {
		memcpy(text + length, "?,", 2);
		length += 2;
	}
	memcpy(text + length - 1, ")", 2);
	note(file, sqlite3_prepare_v2(file->database, text, -1, &insert, NULL));
	return insert;
}

void hk_sqlite_done(struct hk_sqlite *file, sqlite3_stmt *insert)
{
	note(file, sqlite3_finalize(insert));
}

int hk_sqlite_step(struct hk_sqlite *file, sqlite3_stmt *insert)
{
	if (file->error) {
		return file->error;
	}
	sqlite3_step(insert);
	return note(file, sqlite3_reset(insert));
}

static int64_t cut(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Binds TEXT as valid UTF-8. */
static int bind_text(sqlite3_stmt *insert, int column, const char *text)
{
	char *clean = hk_name_utf8(text);

	return clean ? sqlite3_bind_text(insert, column, clean, -1, free) : SQLITE_NOMEM;
}

int hk_sqlite_row(struct hk_sqlite *file, sqlite3_stmt *insert, const char *format, ...)
{
	int code = SQLITE_OK;
	va_list values;

	if (file->error) {
		return file->error;
	}
	va_start(values, format);
	sqlite3_clear_bindings(insert);
	for (int column = 1; format[column - 1] && code == SQLITE_OK; column++) {
		bool have = true;

		switch (format[column - 1]) {
		case 'i':
			code = sqlite3_bind_int64(insert, column, va_arg(values, int64_t));
			break;
		case 't':
			code = bind_text(insert, column, va_arg(values, const char *));
			break;
		case 'o':
			have = va_arg(values, int);
			__attribute__((fallthrough));
		case 'u':
			code = sqlite3_bind_int64(insert, column, cut(va_arg(values, uint64_t)));
			code = have ? code : sqlite3_bind_null(insert, column);
			break;
		default:
			break;
		}
	}
	va_end(values);
	return code == SQLITE_OK ? hk_sqlite_step(file, insert) : note(file, code);
}
