/* sqlite_report.h: what the report knows, as tables of a SQLite export: exact whatever became of
 * the records. Locked by the caller. */
#ifndef HK_EXPORTERS_SQLITE_REPORT_H
#define HK_EXPORTERS_SQLITE_REPORT_H

#include "exporters/exporter.h"
#include "exporters/sqlite_file.h"
#include "exporters/sqlite_sites.h"

/* Writes all tables but those of threads and calls: of JOB's ranks that take part, and of all
 * times. 0 or -errno. */
int hk_sqlite_report(struct hk_sqlite *file, struct hk_sqlite_sites *sites,
		     const struct hk_export_job *job);

#endif
