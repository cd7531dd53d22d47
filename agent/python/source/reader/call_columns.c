#include "call_columns.h"

#include <stdio.h>
#include <string.h>

#include "hooks/names.h"
#include "timeline/value.h"

#define VALUE "value_"

static const struct {
	const char *name;
	char type;
	bool words;
} columns[HK_CALL_VALUE] = {
    [HK_CALL_RANK] = {"rank", 'i', false},
    [HK_CALL_ROLE] = {"role", 'u', true},
    [HK_CALL_HOST] = {"host", 'u', true},
    [HK_CALL_PID] = {"pid", 'I', false},
    [HK_CALL_TID] = {"tid", 'I', false},
    [HK_CALL_THREAD] = {"thread", 'u', true},
    [HK_CALL_START] = {"start_ns", 'l', false},
    [HK_CALL_DURATION] = {"duration_ns", 'l', false},
    [HK_CALL_DEPTH] = {"depth", 'i', false},
    [HK_CALL_DOMAIN] = {"domain", 'u', true},
    [HK_CALL_FUNCTION] = {"function", 'u', true},
    [HK_CALL_LIBRARY] = {"library", 'u', true},
    [HK_CALL_FAILED] = {"failed", 'b', false},
    [HK_CALL_UNWOUND] = {"unwound", 'b', false},
    [HK_CALL_ARGUMENTS] = {"arguments", 'u', false},
    [HK_CALL_RETURNED] = {"returned", 'u', false},
};

bool hk_call_column_exists(int column)
{
	unsigned key = (unsigned)(column - HK_CALL_VALUE);

	return column < HK_CALL_VALUE ||
	       (key < hk_names_key.count && key <= UINT8_MAX &&
		hk_exporter_value_form((uint8_t)key) != HK_VALUE_UNNAMED && *hk_key_name(key));
}

int hk_call_column_find(const char *name)
{
	char other[HK_CALL_COLUMN_BYTES];

	for (int column = 0; column < HK_CALL_COLUMNS; column++) {
		if (hk_call_column_exists(column)) {
			hk_call_column_name(column, other);
			if (strcmp(name, other) == 0) {
				return column;
			}
		}
	}
	return -1;
}

void hk_call_column_name(int column, char name[HK_CALL_COLUMN_BYTES])
{
	if (column < HK_CALL_VALUE) {
		snprintf(name, HK_CALL_COLUMN_BYTES, "%s", columns[column].name);
	} else {
		snprintf(name, HK_CALL_COLUMN_BYTES, VALUE "%s",
			 hk_key_name((unsigned)(column - HK_CALL_VALUE)));
	}
}

char hk_call_column_type(int column, bool *ret_words)
{
	if (column < HK_CALL_VALUE) {
		*ret_words = columns[column].words;
		return columns[column].type;
	}
	enum hk_value_form form = hk_exporter_value_form((uint8_t)(column - HK_CALL_VALUE));
	*ret_words = form == HK_VALUE_TEXT;
	switch (form) {
	case HK_VALUE_INT64:
		return 'l';
	case HK_VALUE_INT32:
		return 'i';
	case HK_VALUE_DOUBLE:
		return 'g';
	case HK_VALUE_TEXT:
		return 'u';
	default:
		return 'L';
	}
}
