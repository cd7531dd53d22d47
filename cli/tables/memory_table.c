#include "cli/tables/memory_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text/csv_text.h"
#include "text/json_stream.h"
#include "text/quantity.h"
#include "text/table.h"

/* Memory of one library, kind and device over all ranks. A peak is that of one rank: the ranks'
 * peaks need not coincide. */
struct row {
	struct hk_report_memory memory; /* rank: the one with the highest peak */
	uint64_t ranks;
};

struct hk_memory_table {
	struct row *rows;
	size_t count;
};

static int by_library(const void *a, const void *b)
{
	const struct hk_report_memory *x = &((const struct row *)a)->memory;
	const struct hk_report_memory *y = &((const struct row *)b)->memory;
	int order = -strcmp(x->role, y->role); /* main before launcher and helper */

	order = order ? order : strcmp(x->library, y->library);
	order = order ? order : (x->device > y->device) - (x->device < y->device);
	return order ? order : strcmp(x->kind, y->kind);
}

static void add(struct row *into, const struct row *from)
{
	if (from->memory.peak_bytes > into->memory.peak_bytes) {
		into->memory.peak_bytes = from->memory.peak_bytes;
		into->memory.peak_low = from->memory.peak_low;
		into->memory.peak_high = from->memory.peak_high;
		into->memory.peak_time_ns = from->memory.peak_time_ns;
		into->memory.rank = from->memory.rank;
	}
	into->memory.allocs += from->memory.allocs;
	into->memory.frees += from->memory.frees;
	into->memory.live_bytes += from->memory.live_bytes;
	into->ranks += from->ranks;
}

int hk_memory_table_new(const struct hk_report *report, struct hk_memory_table **ret_table)
{
	struct hk_memory_table *table = calloc(1, sizeof(*table));
	size_t kept = 0;

	if (table) {
		table->rows = calloc(report->memory_count + 1, sizeof(*table->rows));
	}
	if (!table || !table->rows) {
		free(table);
		return -ENOMEM;
	}
	for (size_t i = 0; i < report->memory_count; i++) {
		table->rows[i] = (struct row){.memory = report->memory[i], .ranks = 1};
	}
	qsort(table->rows, report->memory_count, sizeof(*table->rows), by_library);
	for (size_t i = 0; i < report->memory_count; i++) {
		if (kept && by_library(&table->rows[kept - 1], &table->rows[i]) == 0) {
			add(&table->rows[kept - 1], &table->rows[i]);
		} else {
			table->rows[kept++] = table->rows[i];
		}
	}
	table->count = kept;
	*ret_table = table;
	return 0;
}

struct hk_memory_table *hk_memory_table_free(struct hk_memory_table *table)
{
	if (table) {
		free(table->rows);
		free(table);
	}
	return NULL;
}

static void add_bytes(struct hk_table *text, uint64_t bytes)
{
	char quantity[HK_QUANTITY_BYTES];

	hk_table_add(text, "%s", hk_quantity_bytes(quantity, bytes));
}

int hk_memory_table_write_text(const struct hk_memory_table *table, FILE *output, bool colour)
{
	if (table->count == 0) {
		fputs("no memory call is hooked: the host's are with --hooks libc\n", output);
		return ferror(output) ? -EIO : 0;
	}
	struct hk_table *text =
	    hk_table_new("<library:160|>device|<kind|<role|>ranks|>allocs|>frees|"
			 ">live|>peak|>peak bytes|>of rank|>at s|<note");

	for (size_t i = 0; i < table->count; i++) {
		const struct hk_report_memory *memory = &table->rows[i].memory;

		hk_table_add(text, "%s", memory->library);
		if (memory->device < 0) {
			hk_table_add(text, "host");
		} else {
			hk_table_add(text, "%" PRId32, memory->device);
		}
		hk_table_add(text, "%s", memory->kind);
		hk_table_add(text, "%s", memory->role);
		hk_table_add(text, "%" PRIu64, table->rows[i].ranks);
		hk_table_add(text, "%" PRIu64, memory->allocs);
		hk_table_add(text, "%" PRIu64, memory->frees);
		add_bytes(text, memory->live_bytes);
		add_bytes(text, memory->peak_bytes);
		hk_table_add(text, "%" PRIu64, memory->peak_bytes);
		hk_table_add(text, "%" PRId32, memory->rank);
		hk_table_add(text, "%.3f", (double)memory->peak_time_ns / 1e9);
		hk_table_add(text, "%s", memory->peak_low == memory->peak_high ? "" : "not exact");
	}
	int r = hk_table_write(text, output, colour);

	hk_table_free(text);
	return r == 0 && ferror(output) ? -EIO : r;
}

int hk_memory_table_write_json(const struct hk_memory_table *table, FILE *output)
{
	struct hk_json json = {.output = output};

	hk_json_open(&json, NULL, '{');
	hk_json_open(&json, "memory", '[');
	for (size_t i = 0; i < table->count; i++) {
		const struct hk_report_memory *memory = &table->rows[i].memory;

		hk_json_newline(&json);
		hk_json_open(&json, NULL, '{');
		hk_json_string(&json, "library", memory->library);
		hk_json_int(&json, "device", memory->device);
		hk_json_string(&json, "kind", memory->kind);
		hk_json_string(&json, "role", memory->role);
		hk_json_uint(&json, "ranks", table->rows[i].ranks);
		hk_json_uint(&json, "allocs", memory->allocs);
		hk_json_uint(&json, "frees", memory->frees);
		hk_json_uint(&json, "live_bytes", memory->live_bytes);
		hk_json_uint(&json, "peak_bytes", memory->peak_bytes);
		hk_json_uint(&json, "peak_low", memory->peak_low);
		hk_json_uint(&json, "peak_high", memory->peak_high);
		hk_json_int(&json, "peak_rank", memory->rank);
		hk_json_int(&json, "peak_time_ns", memory->peak_time_ns);
		hk_json_close(&json, '}');
	}
	hk_json_close(&json, ']');
	hk_json_close(&json, '}');
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}

int hk_memory_table_write_csv(const struct hk_memory_table *table, FILE *output)
{
	fputs("library,device,kind,role,ranks,allocs,frees,live_bytes,peak_bytes,peak_low,"
	      "peak_high,peak_rank,peak_time_ns\n",
	      output);
	for (size_t i = 0; i < table->count; i++) {
		const struct hk_report_memory *memory = &table->rows[i].memory;

		hk_csv_text(output, memory->library);
		fprintf(output, ",%" PRId32 ",", memory->device);
		hk_csv_text(output, memory->kind);
		fprintf(output,
			",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			",%" PRIu64 ",%" PRId32 ",%" PRId64 "\n",
			memory->role, table->rows[i].ranks, memory->allocs, memory->frees,
			memory->live_bytes, memory->peak_bytes, memory->peak_low, memory->peak_high,
			memory->rank, memory->peak_time_ns);
	}
	return ferror(output) ? -EIO : 0;
}
