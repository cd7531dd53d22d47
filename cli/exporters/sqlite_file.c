#include "exporters/sqlite_file.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "report/name.h"

/* The file is nobody else's until it is whole, and worth nothing before: no journal, no fsync. */
#define PRAGMAS                                                                   \
	"PRAGMA page_size=8192; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" \
	"PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536; PRAGMA foreign_keys=OFF;"

struct hk_sqlite {
	sqlite3 *database;
	char path[PATH_MAX], partial[PATH_MAX];
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
	if (*file->partial) {
		unlink(file->partial);
	}
	free(file);
	return NULL;
}

int hk_sqlite_error(const struct hk_sqlite *file)
{
	return file->error;
}

/* What SQLite's CODE is as an errno; kept if it is the first. */
static int note(struct hk_sqlite *file, int code)
{
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
	default:
		file->error = -EIO;
		hk_error("%s: %s", file->path,
			 file->database ? sqlite3_errmsg(file->database) : sqlite3_errstr(code));
	}
	return file->error;
}

/* ---- the file ---- */

/* PATH as it is to be after the end: a link's target, so that the link stays. */
static int place(struct hk_sqlite *file, const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0) {
		if (!S_ISREG(status.st_mode)) {
			return S_ISDIR(status.st_mode) ? -EISDIR : -ENOTSUP;
		}
		return realpath(path, file->path) ? 0 : -errno;
	}
	return snprintf(file->path, sizeof(file->path), "%s", path) < (int)sizeof(file->path)
		   ? 0
		   : -ENAMETOOLONG;
}

/* An empty file beside the place, with the rights that any new file of this user has. */
static int make_partial(struct hk_sqlite *file)
{
	char name[PATH_MAX];
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (snprintf(name, sizeof(name), "%s.XXXXXX", file->path) >= (int)sizeof(name)) {
		return -ENAMETOOLONG;
	}
	fd = mkstemp(name);
	if (fd < 0) {
		return -errno;
	}
	memcpy(file->partial, name, sizeof(name));
	fchmod(fd, 0666 & ~mask);
	close(fd);
	return 0;
}

int hk_sqlite_open(struct hk_sqlite *file, const char *path)
{
	file->error = place(file, path);
	if (file->error == 0) {
		file->error = make_partial(file);
	}
	if (file->error < 0) {
		return file->error;
	}
	note(file, sqlite3_open_v2(file->partial, &file->database,
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
	if (file->error == 0 && rename(file->partial, file->path) < 0) {
		file->error = -errno;
	}
	if (file->error == 0) {
		*file->partial = '\0';
	}
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

/* TEXT as SQLite may have it: UTF-8. */
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
