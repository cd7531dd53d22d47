/* links: hk_cli */
/* Records of ptdbg_ascend made by an enemy. What is taken must be rows that can be read. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/foreign/ptdbg_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct hk_values *values)
{
	for (size_t i = 0; i < values->count; i++) {
		struct hk_dump_row row;
		const char *const *frames, *reason;
		values->ops->row(values, i, &row);
		uint32_t count = values->ops->stack(values, row.stack, &frames);
		if (strlen(row.name) == 0 || (count > 0 && !frames[count - 1]) ||
		    values->ops->elements(values, i, &reason)) {
			abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hk_foreign_rows *rows = hk_foreign_rows_new(0, "{}");

	if (hk_ptdbg_records_read(rows, data, size, NULL) == 0) {
		use(hk_foreign_rows_values(rows));
	}
	struct hk_values *values = hk_foreign_rows_values(rows);
	values->ops->close(values);
	return 0;
}
