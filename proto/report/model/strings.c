#include "report/model/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* uthash reports out of memory instead of exiting. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct hk_report_string {
	UT_hash_handle hh;
	uint32_t ordinal;
	char text[];
};

static struct hk_report_string *entry(struct hk_report_strings *strings, const char *text)
{
	struct hk_report_string *found;

	text = text ? text : "";
	size_t length = strlen(text);
	HASH_FIND(hh, strings->table, text, length, found);
	if (found) {
		return found;
	}
	found = calloc(1, sizeof(*found) + length + 1);
	if (!found) {
		return NULL;
	}
	memcpy(found->text, text, length + 1);
	found->ordinal = HASH_COUNT(strings->table);
	HASH_ADD_KEYPTR(hh, strings->table, found->text, length, found);
	if (!found->hh.tbl) {
		free(found);
		return NULL;
	}
	return found;
}

const char *hk_report_strings_get(struct hk_report_strings *strings, const char *text)
{
	struct hk_report_string *found = entry(strings, text);

	return found ? found->text : NULL;
}

int64_t hk_report_strings_ordinal(struct hk_report_strings *strings, const char *text)
{
	struct hk_report_string *found = entry(strings, text);

	return found ? (int64_t)found->ordinal : -ENOMEM;
}

void hk_report_strings_fini(struct hk_report_strings *strings)
{
	struct hk_report_string *one, *next;

	HASH_ITER (hh, strings->table, one, next) {
		HASH_DEL(strings->table, one);
		free(one);
	}
	strings->table = NULL;
}
