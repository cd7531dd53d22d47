#include "report/write/devices_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text/demangle.h"
#include "text/quantity.h"
#include "text/table.h"

#define NAME_BYTES 256

bool hk_devices_are(const struct hk_group *group)
{
	return strcmp(group->domain, "device") == 0;
}

static int by_time(const void *a, const void *b)
{
	const struct hk_group *x = *(const void *const *)a, *y = *(const void *const *)b;
	uint64_t x_ns = x->numbers.device_ns, y_ns = y->numbers.device_ns;

	return x_ns != y_ns ? (x_ns < y_ns) - (x_ns > y_ns) : strcmp(x->function, y->function);
}

static void row_add(struct hk_table *table, const struct hk_group *group, uint64_t all_ns)
{
	const struct hk_report_numbers *n = &group->numbers;
	char text[HK_QUANTITY_BYTES], name[NAME_BYTES];

	hk_demangle_short(group->function, name, sizeof(name));
	hk_table_add(table, "%s", name);
	hk_table_add(table, "%" PRIu64, n->calls);
	hk_table_add(table, "%s", hk_quantity_seconds(text, (double)n->device_ns));
	hk_table_add(table, "%.1f", all_ns > 0 ? 100 * (double)n->device_ns / (double)all_ns : 0);
}

static int table_write(const struct hk_group **rows, size_t count, size_t limit, bool colour,
		       FILE *output)
{
	struct hk_table *table = hk_table_new("<on devices:48|>times|>device s|>%");
	char text[HK_QUANTITY_BYTES];
	uint64_t all_ns = 0, rest_ns = 0;

	for (size_t i = 0; i < count; i++) {
		all_ns += rows[i]->numbers.device_ns;
		rest_ns += i < limit ? 0 : rows[i]->numbers.device_ns;
	}
	for (size_t i = 0; i < count && i < limit; i++) {
		row_add(table, rows[i], all_ns);
	}
	fputc('\n', output);
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	if (count > limit) {
		fprintf(output, "(%zu more: %s device s; hookcli report --by kernel)\n",
			count - limit, hk_quantity_seconds(text, (double)rest_ns));
	}
	return r;
}

int hk_devices_write(const struct hk_groups *groups, size_t limit, bool colour, FILE *output)
{
	const struct hk_group **rows = calloc(groups->count + 1, sizeof(*rows));
	size_t count = 0;
	int r = 0;

	if (!rows) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < groups->count; i++) {
		if (hk_devices_are(&groups->groups[i])) {
			rows[count++] = &groups->groups[i];
		}
	}
	qsort(rows, count, sizeof(*rows), by_time);
	if (count > 0) {
		r = table_write(rows, count, limit, colour, output);
	}
	free(rows);
	return r;
}
