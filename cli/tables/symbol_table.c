#include "cli/tables/symbol_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/build/group.h"
#include "report/model/role.h"
#include "text/csv_text.h"
#include "text/json_stream.h"
#include "text/quantity.h"
#include "text/table.h"

#include <uthash.h>

/* Texts are shared copies, so their addresses stand for them. */
struct key {
	const char *role, *library, *domain, *function;
};

struct symbol {
	UT_hash_handle hh;
	struct key key;
	struct hk_report_numbers numbers; /* buckets are the group's */
	uint64_t library_ns;		  /* time of all symbols in its library and role */
};

struct hk_symbol_table {
	struct hk_groups groups, totals;
	struct hk_report_strings strings;
	struct symbol *symbols; /* in their order */
};

/* ---- rows ---- */

/* Returns the symbol with these texts, created if new, or NULL without memory. */
static struct symbol *symbol_get(struct hk_symbol_table *table, const char *role,
				 const char *library, const char *domain, const char *function)
{
	struct key key = {
	    .role = hk_report_strings_get(&table->strings, role),
	    .library = hk_report_strings_get(&table->strings, library),
	    .domain = hk_report_strings_get(&table->strings, domain),
	    .function = hk_report_strings_get(&table->strings, function),
	};
	struct symbol *symbol;

	if (!key.role || !key.library || !key.domain || !key.function) {
		return NULL;
	}
	HASH_FIND(hh, table->symbols, &key, sizeof(key), symbol);
	if (symbol) {
		return symbol;
	}
	symbol = calloc(1, sizeof(*symbol));
	if (!symbol) {
		return NULL;
	}
	symbol->key = key;
	HASH_ADD(hh, table->symbols, key, sizeof(key), symbol);
	if (!symbol->hh.tbl) {
		free(symbol);
		return NULL;
	}
	return symbol;
}

static int add_called(struct hk_symbol_table *table)
{
	for (size_t i = 0; i < table->groups.count; i++) {
		const struct hk_group *group = &table->groups.groups[i];
		struct symbol *symbol =
		    symbol_get(table, group->role, group->library, group->domain, group->function);
		if (!symbol) {
			return -ENOMEM;
		}
		symbol->numbers = group->numbers;
	}
	return 0;
}

/* Adds sites without calls. */
static int add_uncalled(struct hk_symbol_table *table, const Hk__Snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];

		for (size_t k = 0; k < process->n_sites; k++) {
			const Hk__Site *site = process->sites[k];

			if (!symbol_get(table, hk_report_role_of(process), site->library,
					site->domain, site->function)) {
				return -ENOMEM;
			}
		}
	}
	return 0;
}

static int by_library(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int order = strcmp(x->key.role, y->key.role);

	order = order ? order : strcmp(x->key.library, y->key.library);
	return order ? order : strcmp(x->key.function, y->key.function);
}

/* Compares symbols: main processes first, then the library with the most time, and in it the most
 * expensive call. */
static int by_cost(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int order = -strcmp(x->key.role, y->key.role);

	if (order == 0 && x->library_ns != y->library_ns) {
		return x->library_ns > y->library_ns ? -1 : 1;
	}
	order = order ? order : strcmp(x->key.library, y->key.library);
	if (order == 0 && x->numbers.total_ns != y->numbers.total_ns) {
		return x->numbers.total_ns > y->numbers.total_ns ? -1 : 1;
	}
	if (order == 0 && x->numbers.calls != y->numbers.calls) {
		return x->numbers.calls > y->numbers.calls ? -1 : 1;
	}
	return order ? order : strcmp(x->key.function, y->key.function);
}

static bool same_library(const struct symbol *a, const struct symbol *b)
{
	return a && b && a->key.role == b->key.role && a->key.library == b->key.library;
}

static struct symbol *next_of(const struct symbol *symbol)
{
	return symbol->hh.next;
}

/* Sums self times, because nested calls are in one library, too. */
static void sum_libraries(struct hk_symbol_table *table)
{
	struct symbol *first = table->symbols;

	while (first) {
		struct symbol *end = first;
		uint64_t sum_ns = 0;

		for (; same_library(first, end); end = next_of(end)) {
			sum_ns += end->numbers.self_ns;
		}
		for (; first != end; first = next_of(first)) {
			first->library_ns = sum_ns;
		}
	}
}

int hk_symbol_table_new(const struct hk_report *report, const Hk__Snapshot *snapshot,
			struct hk_symbol_table **ret_table)
{
	struct hk_symbol_table *table = calloc(1, sizeof(*table));
	int r = table ? 0 : -ENOMEM;

	r = r ? r : hk_groups_init(&table->groups, report, HK_GROUP_FUNCTION | HK_GROUP_LIBRARY);
	r = r ? r : hk_groups_init(&table->totals, report, HK_GROUP_FUNCTION);
	r = r ? r : add_called(table);
	r = r ? r : add_uncalled(table, snapshot);
	if (r < 0) {
		hk_symbol_table_free(table);
		return r;
	}
	HASH_SORT(table->symbols, by_library);
	sum_libraries(table);
	HASH_SORT(table->symbols, by_cost);
	*ret_table = table;
	return 0;
}

struct hk_symbol_table *hk_symbol_table_free(struct hk_symbol_table *table)
{
	struct symbol *symbol, *next;

	if (!table) {
		return NULL;
	}
	HASH_ITER (hh, table->symbols, symbol, next) {
		HASH_DEL(table->symbols, symbol);
		free(symbol);
	}
	hk_groups_fini(&table->groups);
	hk_groups_fini(&table->totals);
	hk_report_strings_fini(&table->strings);
	free(table);
	return NULL;
}

/* ---- text ---- */

static void add_duration(struct hk_table *text, bool measured, uint64_t ns)
{
	char duration[HK_QUANTITY_BYTES];

	hk_table_add(text, "%s", measured ? hk_quantity_duration(duration, ns) : "-");
}

static void add_numbers(struct hk_table *text, const char *role, const struct hk_report_numbers *n)
{
	hk_table_add(text, "%s", role);
	hk_table_add(text, "%" PRIu64, n->calls);
	hk_table_add(text, "%" PRIu64, n->errors);
	if (n->have_total) {
		/* "~" marks an estimate from sampled calls. */
		hk_table_add(text, "%s%.9f", n->estimated ? "~" : "", (double)n->total_ns / 1e9);
	} else {
		hk_table_add(text, "-");
	}
	add_duration(text, n->have_latency, n->mean_ns);
	add_duration(text, n->have_latency, n->p50_ns);
	add_duration(text, n->have_latency, n->p99_ns);
	add_duration(text, n->have_latency, n->max_ns);
}

#define HEADS "<symbol:48|<role|>calls|>errors|>cost s|>mean|>p50|>p99|>max"

static int write_totals(const struct hk_symbol_table *table, FILE *output, bool colour)
{
	struct hk_table *text = hk_table_new(HEADS);

	for (size_t i = 0; i < table->totals.count; i++) {
		const struct hk_group *group = &table->totals.groups[i];

		hk_table_add(text, "%s", group->function);
		add_numbers(text, group->role, &group->numbers);
	}
	int r = hk_table_write(text, output, colour);

	hk_table_free(text);
	return r;
}

int hk_symbol_table_write_text(const struct hk_symbol_table *table, FILE *output, bool colour)
{
	struct hk_table *text = hk_table_new("<library:160|" HEADS);
	const struct symbol *last = NULL;
	int r = write_totals(table, output, colour);

	for (const struct symbol *symbol = table->symbols; symbol; symbol = next_of(symbol)) {
		hk_table_add(text, "%s", same_library(last, symbol) ? "" : symbol->key.library);
		hk_table_add(text, "%s", symbol->key.function);
		add_numbers(text, symbol->key.role, &symbol->numbers);
		last = symbol;
	}
	fputc('\n', output);
	r = r ? r : hk_table_write(text, output, colour);
	hk_table_free(text);
	return r == 0 && ferror(output) ? -EIO : r;
}

/* ---- JSON and CSV ---- */

struct number {
	const char *name;
	bool measured;
	uint64_t value;
};

#define NUMBERS 12u

/* Fills in the numbers of a row with their names in the report. */
static void numbers_of(const struct hk_report_numbers *n, struct number numbers[NUMBERS])
{
	const struct number all[NUMBERS] = {
	    {"calls", true, n->calls},
	    {"errors", true, n->errors},
	    {"total_ns", n->have_total, n->total_ns},
	    {"self_ns", n->have_total, n->self_ns},
	    {"bytes", n->have_bytes, n->bytes},
	    {"min_ns", n->have_latency, n->min_ns},
	    {"mean_ns", n->have_latency, n->mean_ns},
	    {"p50_ns", n->have_latency, n->p50_ns},
	    {"p90_ns", n->have_latency, n->p90_ns},
	    {"p99_ns", n->have_latency, n->p99_ns},
	    {"max_ns", n->have_latency, n->max_ns},
	    {"estimated", true, n->estimated}, /* times scaled up from samples */
	};

	memcpy(numbers, all, sizeof(all));
}

/* Writes one object. LIBRARY NULL: the sum of all libraries. */
static void write_object(struct hk_json *json, const char *library, const struct key *key,
			 const struct hk_report_numbers *n)
{
	struct number numbers[NUMBERS];

	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	if (library) {
		hk_json_string(json, "library", library);
	}
	hk_json_string(json, "function", key->function);
	hk_json_string(json, "domain", key->domain);
	hk_json_string(json, "role", key->role);
	numbers_of(n, numbers);
	for (size_t i = 0; i < NUMBERS; i++) {
		if (numbers[i].measured) {
			hk_json_uint(json, numbers[i].name, numbers[i].value);
		} else {
			hk_json_null(json, numbers[i].name);
		}
	}
	hk_json_close(json, '}');
}

int hk_symbol_table_write_json(const struct hk_symbol_table *table, FILE *output)
{
	struct hk_json json = {.output = output};

	hk_json_open(&json, NULL, '{');
	hk_json_open(&json, "totals", '[');
	for (size_t i = 0; i < table->totals.count; i++) {
		const struct hk_group *group = &table->totals.groups[i];
		const struct key key = {
		    .role = group->role, .domain = group->domain, .function = group->function};

		write_object(&json, NULL, &key, &group->numbers);
	}
	hk_json_close(&json, ']');
	hk_json_open(&json, "symbols", '[');
	for (const struct symbol *symbol = table->symbols; symbol; symbol = next_of(symbol)) {
		write_object(&json, symbol->key.library, &symbol->key, &symbol->numbers);
	}
	hk_json_close(&json, ']');
	hk_json_close(&json, '}');
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}

int hk_symbol_table_write_csv(const struct hk_symbol_table *table, FILE *output)
{
	struct number numbers[NUMBERS];

	numbers_of(&(struct hk_report_numbers){0}, numbers);
	fputs("library,function,domain,role", output);
	for (size_t i = 0; i < NUMBERS; i++) {
		fprintf(output, ",%s", numbers[i].name);
	}
	for (const struct symbol *symbol = table->symbols; symbol; symbol = next_of(symbol)) {
		fputc('\n', output);
		hk_csv_text(output, symbol->key.library);
		fputc(',', output);
		hk_csv_text(output, symbol->key.function);
		fputc(',', output);
		hk_csv_text(output, symbol->key.domain);
		fprintf(output, ",%s", symbol->key.role);
		numbers_of(&symbol->numbers, numbers);
		for (size_t i = 0; i < NUMBERS; i++) {
			fputc(',', output);
			if (numbers[i].measured) {
				fprintf(output, "%" PRIu64, numbers[i].value);
			}
		}
	}
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}
