#include "report/write/transfers_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text/quantity.h"
#include "text/table.h"

/* Rows of one communicator, function and size. */
struct sum {
	const struct hk_report_transfer *first, *slowest;
	uint64_t operations, bytes, total_ns;
};

static bool is_same(const struct hk_report_transfer *a, const struct hk_report_transfer *b)
{
	return a->comm == b->comm && a->function == b->function && a->size_log2 == b->size_log2 &&
	       a->ranks == b->ranks;
}

static int by_key(const void *a, const void *b)
{
	const struct hk_report_transfer *x = *(const void *const *)a, *y = *(const void *const *)b;
	int order = strcmp(x->function, y->function);

	if (x->comm != y->comm) {
		return x->comm < y->comm ? -1 : 1;
	}
	if (order != 0) {
		return order;
	}
	if (x->size_log2 != y->size_log2) {
		return x->size_log2 < y->size_log2 ? -1 : 1;
	}
	return x->ranks < y->ranks ? -1 : x->ranks > y->ranks;
}

static int by_time(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->total_ns > y->total_ns ? -1 : x->total_ns < y->total_ns;
}

static void add(struct sum *sum, const struct hk_report_transfer *row)
{
	if (!sum->slowest ||
	    (row->algorithm_gbps > 0 && (sum->slowest->algorithm_gbps <= 0 ||
					 row->algorithm_gbps < sum->slowest->algorithm_gbps))) {
		sum->slowest = row;
	}
	sum->operations += row->operations;
	sum->bytes += row->bytes;
	sum->total_ns += row->total_ns;
}

static size_t sums_make(const struct hk_report_transfer **rows, size_t count, struct sum *sums)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || !is_same(rows[i], rows[i - 1])) {
			sums[used++] = (struct sum){.first = rows[i]};
		}
		add(&sums[used - 1], rows[i]);
	}
	qsort(sums, used, sizeof(*sums), by_time);
	return used;
}

static void row_add(struct hk_table *table, const struct sum *sum)
{
	const struct hk_report_transfer *first = sum->first;
	char text[HK_QUANTITY_BYTES];
	double algorithm = sum->total_ns ? (double)sum->bytes / (double)sum->total_ns : 0;
	double factor = first->algorithm_gbps > 0 ? first->bus_gbps / first->algorithm_gbps : 0;

	hk_table_add(table, "%s", first->function);
	hk_table_add(table, "%016" PRIx64, first->comm);
	hk_table_add(table, "%" PRIu32, first->ranks);
	hk_table_add(table, "%s", hk_quantity_bytes(text, UINT64_C(1) << first->size_log2));
	hk_table_add(table, "%" PRIu64, sum->operations);
	hk_table_add(table, "%s", hk_quantity_seconds(text, (double)sum->total_ns));
	hk_table_add(table, "%.3f", algorithm);
	hk_table_add(table, "%.3f", algorithm * factor);
	hk_table_add(table, "%.3f@%" PRId32, sum->slowest->bus_gbps, sum->slowest->rank);
}

int hk_transfers_write(const struct hk_report *report, size_t limit, bool colour, FILE *output)
{
	size_t count = report->transfer_count;
	const struct hk_report_transfer **rows = calloc(count + 1, sizeof(const void *));
	struct sum *sums = calloc(count + 1, sizeof(*sums));
	struct hk_table *table =
	    hk_table_new("<NCCL:24|<communicator|>ranks|>size from|>operations|>time "
			 "s|>alg GB/s|>bus GB/s|>slowest@rank");
	int r = rows && sums ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++) {
		rows[i] = &report->transfers[i];
	}
	if (r == 0 && count > 0) {
		qsort(rows, count, sizeof(const void *), by_key);
		size_t used = sums_make(rows, count, sums);
		for (size_t i = 0; i < used && i < limit; i++) {
			row_add(table, &sums[i]);
		}
		fputc('\n', output);
		r = hk_table_write(table, output, colour);
		if (used > limit) {
			fprintf(output, "(%zu more: hookcli report --format text)\n", used - limit);
		}
	}
	hk_table_free(table);
	free(sums);
	free(rows);
	return r;
}
