/* sqlite_sites.h: the numbers of call sites in a SQLite export, where sites with equal names are
 * one. Locked by the caller. */
#ifndef HK_CLI_EXPORT_SQLITE_SQLITE_SITES_H
#define HK_CLI_EXPORT_SQLITE_SQLITE_SITES_H

#include "cli/export/exporter.h"
#include "cli/export/sqlite/sqlite_file.h"

struct hk_sqlite_sites;

/* Prepares to write rows into the table `sites` of FILE, which is open. Returns NULL without
 * memory, or on FILE's error. */
struct hk_sqlite_sites *hk_sqlite_sites_new(struct hk_sqlite *file);
/* Frees SITES. Accepts NULL, returns NULL. */
struct hk_sqlite_sites *hk_sqlite_sites_free(struct hk_sqlite_sites *sites);

/* Returns the number of the site with these texts, added if new, or -errno. MEANING is an enum
 * hk_meaning. */
int64_t hk_sqlite_site(struct hk_sqlite_sites *sites, const char *domain, const char *function,
		       const char *library, uint32_t meaning);

/* Does the same for a site of the export, remembered by its address. */
int64_t hk_sqlite_site_shown(struct hk_sqlite_sites *sites, const struct hk_export_site *site);

#endif
