#include "cli/delay/work_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "text/name.h"

#define NAME_COLUMNS 60

struct hk_work_entry {
	struct {
		uint64_t lane, key;
	} key;
	struct hk_work_row row;
	UT_hash_handle hh;
};

void hk_work_rows_fini(struct hk_work_rows *rows)
{
	struct hk_work_entry *entry, *next;

	HASH_ITER (hh, rows->table, entry, next) {
		HASH_DEL(rows->table, entry);
		free(entry);
	}
	free(rows->list);
	*rows = (struct hk_work_rows){0};
}

int hk_work_rows_add(struct hk_work_rows *rows, const struct hk_work_row *row)
{
	struct hk_work_entry *entry, like;

	memset(&like, 0, sizeof(like));
	like.key.lane = row->lane;
	like.key.key = row->key;
	HASH_FIND(hh, rows->table, &like.key, sizeof(like.key), entry);
	if (!entry && HASH_COUNT(rows->table) >= HK_WORK_ROWS) {
		rows->other_ns += row->ns;
		return 0;
	}
	if (!entry) {
		entry = malloc(sizeof(*entry));
		if (!entry) {
			return -ENOMEM;
		}
		*entry = like;
		entry->row.lane = row->lane;
		entry->row.key = row->key;
		HASH_ADD(hh, rows->table, key, sizeof(entry->key), entry);
		if (!entry->hh.tbl) {
			free(entry);
			return -ENOMEM;
		}
	}
	entry->row.ns += row->ns;
	entry->row.passed_ns += row->passed_ns;
	entry->row.times++;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct hk_work_row *x = a, *y = b;

	if (x->ns < y->ns || x->ns > y->ns) {
		return x->ns > y->ns ? -1 : 1;
	}
	if (x->lane != y->lane) {
		return x->lane < y->lane ? -1 : 1;
	}
	return x->key < y->key ? -1 : x->key > y->key;
}

int hk_work_rows_finish(struct hk_work_rows *rows)
{
	rows->list = calloc(HASH_COUNT(rows->table) + 1, sizeof(*rows->list));
	if (!rows->list) {
		return -ENOMEM;
	}
	for (const struct hk_work_entry *entry = rows->table; entry; entry = entry->hh.next) {
		rows->list[rows->count++] = entry->row;
	}
	qsort(rows->list, rows->count, sizeof(*rows->list), by_time);
	return 0;
}

/* ---- text ---- */

static const char *name_of(const struct hk_history *history, uint32_t activity,
			   char name[HK_NAME_BYTES(NAME_COLUMNS)])
{
	*name = '\0';
	if (activity < HK_ACTIVITIES) {
		hk_name_print_function(name, NAME_COLUMNS, history->activities[activity].function);
	}
	return name;
}

const char *hk_work_text(const struct hk_history *history, uint64_t key, char *text)
{
	char first[HK_NAME_BYTES(NAME_COLUMNS)], second[HK_NAME_BYTES(NAME_COLUMNS)];

	name_of(history, hk_work_activity(key), second);
	if (key == HK_WORK_UNKNOWN_KEY) {
		snprintf(text, HK_WORK_TEXT_BYTES, "unknown: records are missing");
	} else if (hk_work_is_call(key)) {
		bool own = hk_work_class_of(history, key) == HK_WORK_OWN;
		snprintf(text, HK_WORK_TEXT_BYTES, "%s%s", own ? "own work in " : "", second);
	} else if (!*name_of(history, (uint32_t)(key >> 32), first)) {
		snprintf(text, HK_WORK_TEXT_BYTES, *second ? "own work before %s" : "own work",
			 second);
	} else if (*second) {
		snprintf(text, HK_WORK_TEXT_BYTES, "own work between %s and %s", first, second);
	} else {
		snprintf(text, HK_WORK_TEXT_BYTES, "own work after %s", first);
	}
	return text;
}

const struct hk_activity *hk_work_stack(const struct hk_history *history, uint64_t key)
{
	uint32_t number = hk_work_activity(key);
	const struct hk_activity *activity = key != HK_WORK_UNKNOWN_KEY && number < HK_ACTIVITIES
						 ? &history->activities[number]
						 : NULL;

	return activity && activity->stack > 0 ? activity : NULL;
}
