#include "cli/export/sqlite/sqlite_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/hook.h"
#include "hooks/names.h"
#include "text/name.h"

#include <uthash.h>

struct named {
	UT_hash_handle hh;
	int64_t id;
	char key[]; /* the three texts, a NUL behind each */
};

struct seen {
	UT_hash_handle hh;
	const struct hk_export_site *site;
	int64_t id;
};

struct hk_sqlite_sites {
	struct hk_sqlite *file;
	sqlite3_stmt *insert;
	struct named *named;
	struct seen *seen, *last;
};

struct hk_sqlite_sites *hk_sqlite_sites_new(struct hk_sqlite *file)
{
	struct hk_sqlite_sites *sites = calloc(1, sizeof(*sites));

	if (sites) {
		sites->file = file;
		sites->insert = hk_sqlite_insert(file, "sites", 5);
	}
	return sites && sites->insert ? sites : hk_sqlite_sites_free(sites);
}

struct hk_sqlite_sites *hk_sqlite_sites_free(struct hk_sqlite_sites *sites)
{
	struct named *named, *next_named;
	struct seen *seen, *next_seen;

	if (!sites) {
		return NULL;
	}
	hk_sqlite_done(sites->file, sites->insert);
	HASH_ITER (hh, sites->named, named, next_named) {
		HASH_DEL(sites->named, named);
		free(named);
	}
	HASH_ITER (hh, sites->seen, seen, next_seen) {
		HASH_DEL(sites->seen, seen);
		free(seen);
	}
	free(sites);
	return NULL;
}

static const char *meaning_word(uint32_t meaning)
{
	switch (meaning) {
	case HK_MEANING_NONE:
		return "";
	case HK_MEANING_MARK:
		return "mark";
	case HK_MEANING_COUNTER:
		return "counter";
	case HK_MEANING_DEVICE_KERNEL:
		return "device kernel";
	case HK_MEANING_DEVICE_COPY:
		return "device copy";
	case HK_MEANING_DEVICE_SET:
		return "device set";
	default:
		return hk_names_get(&hk_names_meaning, meaning);
	}
}

/* Returns the texts as they are in the file, one behind the other. The caller frees them. */
static struct named *named_new(const char *const texts[3], size_t *ret_bytes)
{
	struct named *named = NULL;
	char *clean[3];
	size_t bytes = 0;
	bool have = true;

	for (int i = 0; i < 3; i++) {
		clean[i] = hk_name_utf8(texts[i]);
		have &= clean[i] != NULL;
		bytes += clean[i] ? strlen(clean[i]) + 1 : 0;
	}
	if (have) {
		named = calloc(1, sizeof(*named) + bytes);
	}
	for (size_t i = 0, at = 0; i < 3; i++) {
		if (named) {
			memcpy(named->key + at, clean[i], strlen(clean[i]) + 1);
			at += strlen(clean[i]) + 1;
		}
		free(clean[i]);
	}
	*ret_bytes = bytes;
	return named;
}

int64_t hk_sqlite_site(struct hk_sqlite_sites *sites, const char *domain, const char *function,
		       const char *library, uint32_t meaning)
{
	const char *const texts[] = {domain, function, library};
	struct named *known, *named;
	size_t bytes;

	named = named_new(texts, &bytes);
	if (!named) {
		return -ENOMEM;
	}
	HASH_FIND(hh, sites->named, named->key, bytes, known);
	if (known) {
		free(named);
		return known->id;
	}
	named->id = (int64_t)HASH_COUNT(sites->named) + 1;
	HASH_ADD_KEYPTR(hh, sites->named, named->key, bytes, named);
	if (!named->hh.tbl) {
		free(named);
		return -ENOMEM;
	}
	int rc = hk_sqlite_row(sites->file, sites->insert, "itttt", named->id, domain, function,
			       library, meaning_word(meaning));

	return rc < 0 ? rc : named->id;
}

int64_t hk_sqlite_site_shown(struct hk_sqlite_sites *sites, const struct hk_export_site *site)
{
	struct seen *seen = sites->last;

	if (seen && seen->site == site) {
		return seen->id;
	}
	HASH_FIND_PTR(sites->seen, &site, seen);
	if (!seen) {
		seen = calloc(1, sizeof(*seen));
		if (!seen) {
			return -ENOMEM;
		}
		seen->site = site;
		seen->id = hk_sqlite_site(sites, site->domain, site->function, site->library,
					  site->meaning);
		HASH_ADD_PTR(sites->seen, site, seen);
		if (seen->id < 0 || !seen->hh.tbl) {
			int64_t rc = seen->id < 0 ? seen->id : -ENOMEM;

			if (seen->hh.tbl) {
				HASH_DEL(sites->seen, seen);
			}
			free(seen);
			return rc;
		}
	}
	sites->last = seen;
	return seen->id;
}
