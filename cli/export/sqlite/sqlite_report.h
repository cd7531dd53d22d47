/* sqlite_report.h: the report as tables of a SQLite export: exact even if records are missing.
 * Locked by the caller. */
#ifndef HK_CLI_EXPORT_SQLITE_SQLITE_REPORT_H
#define HK_CLI_EXPORT_SQLITE_SQLITE_REPORT_H

#include "cli/export/exporter.h"
#include "cli/export/sqlite/sqlite_file.h"
#include "cli/export/sqlite/sqlite_sites.h"

/* Writes all tables but those of threads and calls, for JOB's exported ranks and for all times.
 * Returns 0 or -errno. */
int hk_sqlite_report(struct hk_sqlite *file, struct hk_sqlite_sites *sites,
		     const struct hk_export_job *job);

#endif
