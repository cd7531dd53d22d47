/* sqlite_report.h: what the report knows, as tables of a SQLite export: exact whatever became of
 * the records. Locked by the caller. */
#ifndef HK_CLI_EXPORT_SQLITE_SQLITE_REPORT_H
#define HK_CLI_EXPORT_SQLITE_SQLITE_REPORT_H

#include "cli/export/exporter.h"
#include "cli/export/sqlite/sqlite_file.h"
#include "cli/export/sqlite/sqlite_sites.h"

/* Writes all tables but those of threads and calls: of JOB's ranks that take part, and of all
 * times. 0 or -errno. */
int hk_sqlite_report(struct hk_sqlite *file, struct hk_sqlite_sites *sites,
		     const struct hk_export_job *job);

#endif
