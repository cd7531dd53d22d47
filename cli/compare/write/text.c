/* A comparison for people: the first divergence, the worst rows, what the rest is. */
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/format.h"
#include "cli/compare/write/headline.h"
#include "cli/compare/write/label.h"
#include "cli/compare/write/order.h"
#include "tensor/tolerance.h"
#include "text/name.h"

#define FRAMES_MAX 12u
#define NAME_COLUMNS 400

static void safe_print(FILE *output, const char *text)
{
	char name[HK_NAME_BYTES(NAME_COLUMNS)];

	hk_name_print(name, NAME_COLUMNS, text);
	fputs(name, output);
}

/* Writes FRAME, "path:line function", as "function (file:line)". */
static void frame_print(FILE *output, const char *frame)
{
	const char *blank = strrchr(frame, ' '), *slash = strrchr(frame, '/');
	const char *file = slash && (!blank || slash < blank) ? slash + 1 : frame;
	char text[NAME_COLUMNS];

	if (blank && blank > file) {
		snprintf(text, sizeof(text), "%.150s (%.*s)", blank + 1,
			 blank - file < 200 ? (int)(blank - file) : 200, file);
		safe_print(output, text);
	} else {
		safe_print(output, frame);
	}
}

static void first_write(const struct hk_comparison *comparison, FILE *output)
{
	char text[HK_HEADLINE_BYTES];
	const char *const *frames;
	const char *bold = comparison->colour ? "\033[1;31m" : "";

	if (comparison->first.kind == HK_FIRST_NONE) {
		fputs("first wrong: none found\n", output);
		return;
	}
	fprintf(output, "%sfirst wrong:%s ", bold, comparison->colour ? "\033[0m" : "");
	safe_print(output, hk_headline(text, comparison));
	fputc('\n', output);
	uint32_t count = hk_headline_stack(comparison, &frames);
	for (uint32_t i = 0; i < count && i < FRAMES_MAX; i++) {
		fputs(i ? " <- " : "             ", output);
		frame_print(output, frames[i]);
	}
	fputs(count ? "\n" : "", output);
}

/* ---- rows ---- */

static void number_add(struct hk_table *table, const char *format, double number)
{
	char text[32];

	if (isnan(number)) {
		hk_table_add(table, "-");
		return;
	}
	/* The formats are those of this file. */
	snprintf(text, sizeof(text), format, number);
	hk_table_add(table, "%s", text);
}

static void numbers_add(struct hk_table *table, const struct hk_match *match)
{
	const struct hk_difference *difference = match->difference;

	number_add(table, "%.6f", difference ? difference->cosine : NAN);
	number_add(table, "%.1e", difference ? difference->max_abs : NAN);
	number_add(table, "%.1e", difference ? difference->max_rel : NAN);
	number_add(table, "%.3g %%", difference ? 100 * difference->within_1000 : NAN);
	number_add(table, "%.1e", match->error);
}

static void row_add(struct hk_table *table, const struct hk_comparison *comparison,
		    const struct hk_order_row *place)
{
	const struct hk_rank_pair *pair = &comparison->pairs[place->pair];
	const struct hk_match *match = &pair->matches[place->match];
	char text[HK_LABEL_BYTES];
	struct hk_dump_row row;

	hk_label_row(pair, match, &row);
	hk_table_add(table, "%s", match->level == HK_MATCH_DIFFERS ? "!" : "");
	hk_table_add(table, "%s", hk_label_name(text, &row));
	hk_table_add(table, "%" PRIu32, match->a != HK_MATCH_NONE ? pair->a->rank : pair->b->rank);
	hk_table_add(table, "%" PRIu64, row.step);
	hk_table_add(table, "%s", hk_label_dtypes(text, pair, match));
	numbers_add(table, match);
	hk_table_add(table, "%s", hk_label_level(match->level));
	hk_table_add(table, "%s", hk_label_reason(text, pair, match));
}

static int rows_write(const struct hk_comparison *comparison, FILE *output)
{
	size_t count = 0, shown;
	struct hk_order_row *rows = hk_order_rows(comparison, comparison->all, &count);
	struct hk_table *table =
	    hk_table_new("<|<name:64|>rank|>step|<dtype|>cosine|>max abs|>max rel|>1/1000|>error|"
			 "<verdict|<why:80");

	if (!rows) {
		hk_table_free(table);
		return -ENOMEM;
	}
	shown = comparison->rows && comparison->rows < count ? comparison->rows : count;
	for (size_t i = 0; i < shown; i++) {
		row_add(table, comparison, &rows[i]);
	}
	int r = hk_table_is_empty(table) ? 0 : hk_table_write(table, output, comparison->colour);
	if (count > shown) {
		fprintf(output, "(%zu more: --rows 0 shows them)\n", count - shown);
	}
	hk_table_free(table);
	free(rows);
	return r;
}

/* ---- the rest ---- */

static size_t unmatched_of_a(const struct hk_comparison *comparison)
{
	size_t count = 0;

	for (size_t i = 0; i < comparison->pair_count; i++) {
		for (size_t j = 0; j < comparison->pairs[i].a->count; j++) {
			const struct hk_match *match = &comparison->pairs[i].matches[j];
			count += match->level == HK_MATCH_UNMATCHED;
		}
	}
	return count;
}

static void foot_write(const struct hk_comparison *comparison, FILE *output)
{
	const size_t *levels = comparison->levels;
	size_t agree = levels[HK_MATCH_EQUAL] + levels[HK_MATCH_AGREES], all = 0;
	size_t only_a = unmatched_of_a(comparison);

	for (int i = HK_MATCH_EQUAL; i < HK_MATCH_LEVELS; i++) {
		all += levels[i];
	}
	fprintf(output, "%zu of %zu agree (%zu bit by bit)", agree, all, levels[HK_MATCH_EQUAL]);
	if (levels[HK_MATCH_DIFFERS] + levels[HK_MATCH_FOLLOWS] > 0) {
		fprintf(output, "; %zu do not, %zu follow", levels[HK_MATCH_DIFFERS],
			levels[HK_MATCH_FOLLOWS]);
	}
	if (levels[HK_MATCH_UNMATCHED] > 0) {
		fprintf(output, "; %zu unmatched (%zu only in A, %zu only in B)",
			levels[HK_MATCH_UNMATCHED], only_a, levels[HK_MATCH_UNMATCHED] - only_a);
	}
	if (levels[HK_MATCH_UNKNOWN] > 0) {
		fprintf(output, "; %zu without numbers", levels[HK_MATCH_UNKNOWN]);
	}
	fprintf(output, "\n%s", hk_tolerance_rule());
}

static int text_write(const struct hk_comparison *comparison, FILE *output)
{
	first_write(comparison, output);
	int r = rows_write(comparison, output);
	foot_write(comparison, output);
	return r ? r : ferror(output) ? -EIO : 0;
}

const struct hk_comparison_format hk_comparison_format_text = {"text", text_write};
