#include "cli/tui/cell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/quantity.h"

#define STEPS 8

bool hk_cell_is_text(enum hk_cell_kind kind)
{
	return kind == HK_CELL_NAME || kind == HK_CELL_TEXT;
}

enum hk_cell_kind hk_column_kind(const struct hk_column *column, bool totals)
{
	return totals && column->total_title ? column->total_kind : column->kind;
}

const char *hk_column_title(const struct hk_column *column, bool totals)
{
	return totals && column->total_title ? column->total_title : column->title;
}

static uint64_t whole(double value)
{
	return value < 0 ? 0 : value >= 1.8e19 ? UINT64_MAX : (uint64_t)value;
}

const char *hk_cell_number(char text[HK_CELL_BYTES_MAX], enum hk_cell_kind kind, double value)
{
	char quantity[HK_QUANTITY_BYTES];
	const char *written = "";

	if (isnan(value)) {
		written = "-";
	} else if (kind == HK_CELL_COUNT || (kind == HK_CELL_INTEGER && value >= 1e7)) {
		written = hk_quantity_count(quantity, value);
	} else if (kind == HK_CELL_INTEGER) {
		snprintf(quantity, sizeof(quantity), "%.0f", value);
		written = quantity;
	} else if (kind == HK_CELL_PERCENT || kind == HK_CELL_RATIO) {
		snprintf(quantity, sizeof(quantity), kind == HK_CELL_RATIO ? "%.2f" : "%.1f",
			 value);
		written = quantity;
	} else if (kind == HK_CELL_NS) {
		written = hk_quantity_duration(quantity, whole(value));
	} else if (kind == HK_CELL_BYTES) {
		written = hk_quantity_bytes(quantity, whole(value));
	}
	snprintf(text, HK_CELL_BYTES_MAX, "%s", written);
	return text;
}

const char *hk_cell_bar(double share, bool utf8)
{
	static const char *const blocks[STEPS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[STEPS] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	int step = (int)(share * STEPS);

	step = step < 0 ? 0 : step >= STEPS ? STEPS - 1 : step;
	return utf8 ? blocks[step] : ascii[step];
}

void hk_cell_spark(char *text, size_t width, const struct hk_track *track, bool utf8)
{
	double highest = 0;

	*text = '\0';
	for (size_t i = 0; track && i < width; i++) {
		highest = fmax(highest, hk_track_part(track, i, width));
	}
	for (size_t i = 0; i < width; i++) {
		double rate = track ? hk_track_part(track, i, width) : NAN;
		const char *bar = " ";
		if (!isnan(rate)) {
			bar = hk_cell_bar(highest > 0 ? rate / highest : 0, utf8);
		}
		text = stpcpy(text, bar);
	}
}
