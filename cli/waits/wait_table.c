#include "cli/waits/wait_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text/csv_text.h"
#include "text/json_stream.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"

#define NAME_COLUMNS 40
#define RANKS_SHOWN 16u /* awaited ranks in text */

/* ---- text ---- */

/* Rows with something in common. */
struct group {
	const struct hk_wait_row *first;
	uint64_t waits, wait_ns, longest_ns;
	int32_t most; /* the rank, of the other side, with most of it */
	uint64_t most_ns;
};

typedef bool same_fn(const struct hk_wait_row *x, const struct hk_wait_row *y);

static bool same_function(const struct hk_wait_row *x, const struct hk_wait_row *y)
{
	return x->pattern == y->pattern && x->function == y->function;
}

static bool same_awaited(const struct hk_wait_row *x, const struct hk_wait_row *y)
{
	return x->awaited == y->awaited;
}

static int by_wait(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->wait_ns > y->wait_ns ? -1 : x->wait_ns < y->wait_ns;
}

/* What one row adds to a rank. */
struct part {
	int32_t rank;
	uint64_t wait_ns;
};

static int by_rank(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Sets the rank with most of the waits of GROUP: of the awaited ones, or of those that wait. PARTS
 * has room for all rows. */
static void most_find(const struct hk_waits *waits, struct group *group, same_fn *same,
		      bool awaited, struct part *parts)
{
	size_t count = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < waits->count; i++) {
		const struct hk_wait_row *row = &waits->rows[i];
		if (same(row, group->first)) {
			parts[count++] =
			    (struct part){awaited ? row->awaited : row->rank, row->wait_ns};
		}
	}
	qsort(parts, count, sizeof(*parts), by_rank);
	for (size_t i = 0; i < count; i++) {
		sum = i > 0 && parts[i].rank == parts[i - 1].rank ? sum : 0;
		sum += parts[i].wait_ns;
		if (sum > group->most_ns) {
			group->most_ns = sum;
			group->most = parts[i].rank;
		}
	}
}

/* Returns the rows that are the SAME as groups, the longest waits first; NULL without memory. The
 * caller frees them with free(). */
static struct group *groups_new(const struct hk_waits *waits, same_fn *same, size_t *ret_count)
{
	struct group *groups = calloc(waits->count + 1, sizeof(*groups));
	size_t count = 0;

	for (size_t i = 0; groups && i < waits->count; i++) {
		const struct hk_wait_row *row = &waits->rows[i];
		size_t at = 0;
		while (at < count && !same(groups[at].first, row)) {
			at++;
		}
		count += at == count;
		struct group *group = &groups[at];
		group->first = group->first ? group->first : row;
		group->waits += row->waits;
		group->wait_ns += row->wait_ns;
		group->longest_ns =
		    row->longest_ns > group->longest_ns ? row->longest_ns : group->longest_ns;
	}
	if (groups) {
		qsort(groups, count, sizeof(*groups), by_wait);
	}
	*ret_count = count;
	return groups;
}

static void numbers_add(struct hk_table *table, const struct group *group)
{
	char text[HK_QUANTITY_BYTES];

	hk_table_add(table, "%" PRIu64, group->waits);
	hk_table_add(table, "%s", hk_quantity_seconds(text, (double)group->wait_ns));
	hk_table_add(table, "%s", hk_quantity_duration(text, group->longest_ns));
	hk_table_add(table, "%" PRId32, group->most);
	hk_table_add(table, "%.1f",
		     group->wait_ns > 0 ? 100 * (double)group->most_ns / (double)group->wait_ns
					: 0);
}

static int functions_write(const struct hk_waits *waits, FILE *output, bool colour)
{
	struct hk_table *table =
	    hk_table_new("<pattern|<function|>waits|>wait s|>longest|>for rank|>of it %");
	char name[HK_NAME_BYTES(NAME_COLUMNS)];
	size_t count;
	struct group *groups = groups_new(waits, same_function, &count);
	struct part *parts = calloc(waits->count + 1, sizeof(*parts));

	for (size_t i = 0; groups && parts && i < count; i++) {
		most_find(waits, &groups[i], same_function, true, parts);
		hk_name_print_function(name, NAME_COLUMNS, groups[i].first->function);
		hk_table_add(table, "%s", hk_wait_pattern_name(groups[i].first->pattern));
		hk_table_add(table, "%s", name);
		numbers_add(table, &groups[i]);
	}
	int r = groups && parts ? hk_table_write(table, output, colour) : -ENOMEM;
	free(parts);
	free(groups);
	hk_table_free(table);
	return r;
}

static int ranks_write(const struct hk_waits *waits, FILE *output, bool colour)
{
	struct hk_table *table =
	    hk_table_new(">awaited rank|>waits|>wait s|>longest|>by rank|>of it %");
	size_t count;
	struct group *groups = groups_new(waits, same_awaited, &count);
	struct part *parts = calloc(waits->count + 1, sizeof(*parts));

	for (size_t i = 0; groups && parts && i < count && i < RANKS_SHOWN; i++) {
		most_find(waits, &groups[i], same_awaited, false, parts);
		hk_table_add(table, "%" PRId32, groups[i].first->awaited);
		numbers_add(table, &groups[i]);
	}
	int r = groups && parts ? hk_table_write(table, output, colour) : -ENOMEM;
	free(parts);
	free(groups);
	hk_table_free(table);
	return r;
}

static void notes_write(const struct hk_waits *waits, FILE *output)
{
	fprintf(output, "%" PRIu64 " messages and %" PRIu64 " collectives were matched\n",
		waits->messages, waits->collectives);
	if (waits->doubtful > 0) {
		fprintf(output,
			"! %" PRIu64 " collectives are left out: a rank left them before the rank "
			"that it would wait for had entered\n",
			waits->doubtful);
	}
	if (waits->alone > 0) {
		fprintf(output, "! %" PRIu64 " collectives were found of one rank only\n",
			waits->alone);
	}
	if (waits->lost > 0) {
		fprintf(output, "! %" PRIu64 " records are missing: waits in them are not here\n",
			waits->lost);
	}
	if (waits->left_out > 0) {
		fprintf(output, "! %" PRIu64 " waits had no room for a row\n", waits->left_out);
	}
}

int hk_wait_table_write_text(const struct hk_waits *waits, FILE *output, bool colour)
{
	int r = 0;

	if (waits->damaged) {
		fputs("! records are damaged: their calls cannot be matched\n", output);
		return ferror(output) ? -EIO : 0;
	}
	if (waits->count == 0) {
		fputs("no rank waited for another one, as far as calls were recorded\n", output);
	} else {
		r = functions_write(waits, output, colour);
		fputc('\n', output);
		r = r < 0 ? r : ranks_write(waits, output, colour);
		fputc('\n', output);
	}
	notes_write(waits, output);
	return r == 0 && ferror(output) ? -EIO : r;
}

/* ---- rows ---- */

int hk_wait_table_write_json(const struct hk_waits *waits, FILE *output)
{
	struct hk_json json = {.output = output};

	hk_json_open(&json, NULL, '{');
	hk_json_open(&json, "waits", '[');
	for (size_t i = 0; i < waits->count; i++) {
		const struct hk_wait_row *row = &waits->rows[i];
		hk_json_newline(&json);
		hk_json_open(&json, NULL, '{');
		hk_json_string(&json, "pattern", hk_wait_pattern_name(row->pattern));
		hk_json_string(&json, "function", row->function);
		hk_json_int(&json, "rank", row->rank);
		hk_json_int(&json, "awaited", row->awaited);
		hk_json_uint(&json, "waits", row->waits);
		hk_json_uint(&json, "wait_ns", row->wait_ns);
		hk_json_uint(&json, "longest_ns", row->longest_ns);
		hk_json_close(&json, '}');
	}
	hk_json_close(&json, ']');
	hk_json_newline(&json);
	hk_json_uint(&json, "messages", waits->messages);
	hk_json_uint(&json, "collectives", waits->collectives);
	hk_json_uint(&json, "doubtful_collectives", waits->doubtful);
	hk_json_uint(&json, "lone_collectives", waits->alone);
	hk_json_uint(&json, "missing_records", waits->lost);
	hk_json_bool(&json, "damaged", waits->damaged);
	hk_json_uint(&json, "waits_without_row", waits->left_out);
	hk_json_close(&json, '}');
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}

int hk_wait_table_write_csv(const struct hk_waits *waits, FILE *output)
{
	fputs("pattern,function,rank,awaited,waits,wait_ns,longest_ns\n", output);
	for (size_t i = 0; i < waits->count; i++) {
		const struct hk_wait_row *row = &waits->rows[i];
		fprintf(output, "%s,", hk_wait_pattern_name(row->pattern));
		hk_csv_text(output, row->function);
		fprintf(output, ",%" PRId32 ",%" PRId32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			row->rank, row->awaited, row->waits, row->wait_ns, row->longest_ns);
	}
	return ferror(output) ? -EIO : 0;
}
