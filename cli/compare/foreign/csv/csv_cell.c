#include "cli/compare/foreign/csv/csv_cell.h"

#include <inttypes.h>
#include <string.h>

#include "text/csv_text.h"

void hk_csv_cell(FILE *output, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, output);
		return;
	}
	fputc('"', output);
	for (; *text; text++) {
		if (*text == '"') {
			fputc('"', output);
		}
		fputc(*text, output);
	}
	fputc('"', output);
}

static int is_plain(const char *text)
{
	if (strchr("=+-@", *text) && *text) {
		return 0;
	}
	for (; *text; text++) {
		if (*text < ' ' || *text > '~') {
			return 0;
		}
	}
	return 1;
}

void hk_csv_cell_foreign(FILE *output, const char *text)
{
	if (is_plain(text)) {
		hk_csv_cell(output, text);
	} else {
		hk_csv_text(output, text);
	}
}

const char *hk_csv_shape(char text[HK_CSV_SHAPE_BYTES], const struct hk_dump_row *row)
{
	size_t length = (size_t)snprintf(text, HK_CSV_SHAPE_BYTES, "[");

	for (uint32_t i = 0; i < row->dimensions && length < HK_CSV_SHAPE_BYTES; i++) {
		length += (size_t)snprintf(text + length, HK_CSV_SHAPE_BYTES - length, "%s%" PRIu64,
					   i ? ", " : "", row->shape[i]);
	}
	if (length < HK_CSV_SHAPE_BYTES) {
		snprintf(text + length, HK_CSV_SHAPE_BYTES - length, "]");
	}
	return text;
}
