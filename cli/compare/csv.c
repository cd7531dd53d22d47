/* A comparison for spreadsheets: a line for each row, all numbers, in the order of the dumps. */
#include "text/csv_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "cli/compare/format.h"
#include "cli/compare/label.h"
#include "cli/compare/shape.h"

static const char head[] =
    "rank_a,rank_b,step,kind,phase,name,of,number,role,slot,name_b,dtype_a,dtype_b,shape_a,shape_b,"
    "verdict,reason,error,cosine,cosine_half,rmse,mape,max_abs,max_abs_at,max_rel,euclidean,"
    "within_1000,within_5000,max_ulp,median_ulp_bound,within_dtype,equal,not_finite_a,not_finite_b";

/* A number that reads back as it is, or an empty field. */
static void number_write(FILE *output, double number)
{
	if (!isnan(number)) {
		fprintf(output, ",%.17g", number);
	} else {
		fputc(',', output);
	}
}

static void text_write(FILE *output, const char *text)
{
	fputc(',', output);
	hk_csv_text(output, text);
}

static void difference_write(FILE *output, const struct hk_difference *difference)
{
	if (!difference) {
		fputs(",,,,,,,,,,,,,,,,", output);
		return;
	}
	number_write(output, difference->cosine);
	number_write(output, difference->cosine_half);
	number_write(output, difference->rmse);
	number_write(output, difference->mape);
	number_write(output, difference->max_abs);
	fprintf(output, ",%" PRIu64, difference->max_abs_at);
	number_write(output, difference->max_rel);
	number_write(output, difference->euclidean);
	number_write(output, difference->within_1000);
	number_write(output, difference->within_5000);
	fprintf(output, ",%" PRIu64 ",%" PRIu64, difference->max_ulp, difference->median_ulp_bound);
	number_write(output, difference->within_dtype);
	fprintf(output, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, difference->equal, difference->only_a,
		difference->only_b);
}

/* The five numbers of a side's statistics, and what is not finite. */
static void statistics_write(FILE *output, const struct hk_dump_row *row)
{
	if (!row || row->dtype == HK_DTYPE_NONE || (row->flags & HK_DUMP_NO_STATISTICS)) {
		fputs(",,,,,,,", output);
		return;
	}
	number_write(output, row->statistics.max);
	number_write(output, row->statistics.min);
	number_write(output, row->statistics.mean);
	number_write(output, row->statistics.l2);
	number_write(output, row->statistics.deviation);
	fprintf(output, ",%" PRIu64 ",%" PRIu64, row->statistics.nans,
		row->statistics.positive_infs + row->statistics.negative_infs);
}

static void shape_write(FILE *output, const struct hk_dump_row *row)
{
	char text[HK_SHAPE_TEXT_BYTES];

	text_write(output, row && row->dtype != HK_DTYPE_NONE
			       ? hk_shape_text(text, row->shape, row->dimensions)
			       : "");
}

static void row_write(FILE *output, const struct hk_rank_pair *pair, const struct hk_match *match)
{
	struct hk_dump_row any, rows[2];
	const struct hk_dump_row *a = NULL, *b = NULL;
	char text[HK_LABEL_BYTES];

	if (match->a != HK_MATCH_NONE) {
		pair->a->ops->row(pair->a, match->a, &rows[0]);
		a = &rows[0];
	}
	if (match->b != HK_MATCH_NONE) {
		pair->b->ops->row(pair->b, match->b, &rows[1]);
		b = &rows[1];
	}
	any = a ? *a : *b;
	fprintf(output, "%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%s,%s", pair->a->rank, pair->b->rank,
		any.step, hk_label_kind(any.kind), hk_label_phase(any.phase));
	text_write(output, any.name);
	text_write(output, any.of);
	fprintf(output, ",%" PRIu32 ",%s", any.number, hk_label_role(any.role));
	text_write(output, any.slot);
	text_write(output, b ? b->name : "");
	fprintf(output, ",%s,%s", a ? hk_dtype_name(a->dtype) : "",
		b ? hk_dtype_name(b->dtype) : "");
	shape_write(output, a);
	shape_write(output, b);
	fprintf(output, ",%s", hk_label_level(match->level));
	text_write(output, hk_label_reason(text, pair, match));
	number_write(output, match->error);
	difference_write(output, match->difference);
	statistics_write(output, a);
	statistics_write(output, b);
	fputs("\n", output);
}

static int csv_write(const struct hk_comparison *comparison, FILE *output)
{
	fprintf(output, "%s", head);
	for (int side = 0; side < 2; side++) {
		const char *name = side ? "b" : "a";
		fprintf(output, ",max_%s,min_%s,mean_%s,l2_%s,deviation_%s,nan_%s,inf_%s", name,
			name, name, name, name, name, name);
	}
	fputs("\n", output);
	for (size_t i = 0; i < comparison->pair_count; i++) {
		const struct hk_rank_pair *pair = &comparison->pairs[i];
		for (size_t j = 0; j < pair->count; j++) {
			if (pair->matches[j].level != HK_MATCH_ELSEWHERE) {
				row_write(output, pair, &pair->matches[j]);
			}
		}
	}
	return ferror(output) ? -EIO : 0;
}

const struct hk_comparison_format hk_comparison_format_csv = {"csv", csv_write};
