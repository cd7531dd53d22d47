/* A comparison as the file of `msprobe compare`: its columns, names, numbers and verdicts. Lines of
 * all ranks and steps follow one another. With elements of both sides it has the columns of
 * msprobe's task "tensor", else of "statistics". */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/compare/foreign/csv/csv_cell.h"
#include "cli/compare/foreign/csv/msprobe_judge.h"
#include "cli/compare/foreign/csv/msprobe_lines.h"
#include "cli/compare/foreign/csv/msprobe_side.h"
#include "cli/compare/foreign/python_text.h"
#include "cli/compare/format.h"

static const char head[] = "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,"
			   "Bench Tensor Shape,NPU Requires_grad,Bench Requires_grad,";
static const char statistics_head[] = "Max diff,Min diff,Mean diff,L2norm diff,MaxRelativeErr,"
				      "MinRelativeErr,MeanRelativeErr,NormRelativeErr,";
static const char elements_head[] = "Cosine,EucDist,MaxAbsErr,MaxRelativeErr,"
				    "One Thousandth Err Ratio,Five Thousandths Err Ratio,";
static const char tail[] = "NPU max,NPU min,NPU mean,NPU l2norm,Bench max,Bench min,Bench mean,"
			   "Bench l2norm,Requires_grad Consistent,Result,Err_message,"
			   "NPU_Stack_Info";

/* msprobe keeps twelve decimals. */
static void rounded_write(FILE *output, double number)
{
	char text[64], shortest[HK_PYTHON_NUMBER_BYTES];
	double kept = number;

	if (isnan(number)) {
		fputs(",Nan", output);
		return;
	}
	snprintf(text, sizeof(text), "%.12f", number);
	sscanf(text, "%lf", &kept);
	fprintf(output, ",%s", hk_python_number(shortest, kept));
}

static void cosine_write(FILE *output, double cosine)
{
	rounded_write(output, cosine > 0.9999 ? round(cosine * 1e6) / 1e6 : cosine);
}

static void elements_write(FILE *output, const struct hk_msprobe_line *line)
{
	static const char *const words[] = {[HK_METRICS_UNSUPPORTED] = "unsupported",
					    [HK_METRICS_SHAPES] = "shape unmatched",
					    [HK_METRICS_APART] = "N/A"};
	const struct hk_msprobe_metrics *metrics = &line->metrics;
	char text[HK_PYTHON_NUMBER_BYTES];

	if (line->state < HK_METRICS_NUMBER) {
		for (int i = 0; i < 6; i++) {
			fprintf(output, ",%s", words[line->state]);
		}
		return;
	}
	bool all = line->state == HK_METRICS_ALL;
	if (all) {
		cosine_write(output, metrics->cosine);
		fprintf(output, ",%s", hk_python_number(text, metrics->euclidean));
	} else {
		fputs(",unsupported,unsupported", output);
	}
	rounded_write(output, metrics->max_abs);
	rounded_write(output, metrics->max_rel);
	if (all) {
		rounded_write(output, metrics->within_1000);
		rounded_write(output, metrics->within_5000);
	} else {
		fputs(",unsupported,unsupported", output);
	}
}

static void differences_write(FILE *output, const struct hk_figure_cell a[HK_FIGURES],
			      const struct hk_figure_cell b[HK_FIGURES])
{
	char difference[HK_FIGURES][HK_FIGURE_BYTES], relative[HK_FIGURES][HK_FIGURE_BYTES];

	for (int i = 0; i < HK_FIGURES; i++) {
		hk_figure_difference(&a[i], &b[i], difference[i], relative[i]);
		fprintf(output, ",%s", difference[i]);
	}
	for (int i = 0; i < HK_FIGURES; i++) {
		fprintf(output, ",%s", relative[i]);
	}
}

static void figures_write(FILE *output, const struct hk_figure_cell cells[HK_FIGURES])
{
	for (int i = 0; i < HK_FIGURES; i++) {
		fputc(',', output);
		hk_csv_cell_foreign(output, cells[i].kind == HK_FIGURE_OTHER ? cells[i].text : "");
		if (cells[i].kind != HK_FIGURE_OTHER) {
			hk_csv_cell(output, cells[i].text);
		}
	}
}

/* Appends FRAME, "path:line function", as msprobe has it: 'File path, line 3, in f, \n '. */
static size_t frame_text(char *text, size_t size, const char *frame)
{
	const char *space = strrchr(frame, ' '), *colon = space;

	while (colon && colon > frame && *colon != ':') {
		colon--;
	}
	if (!colon || *colon != ':') {
		return (size_t)snprintf(text, size, "'%s'", frame);
	}
	return (size_t)snprintf(text, size, "'File %.*s, line %.*s, in %s, \\n '",
				(int)(colon - frame), frame, (int)(space - colon - 1), colon + 1,
				space + 1);
}

static void stack_write(FILE *output, struct hk_values *values, const struct hk_msprobe_line *line)
{
	char text[16384];
	const char *const *frames;
	uint32_t count = line->is_first ? values->ops->stack(values, line->a.stack, &frames) : 0;
	size_t length = (size_t)snprintf(text, sizeof(text), "[");

	for (uint32_t i = 0; i < count && length + 1024 < sizeof(text); i++) {
		length +=
		    (size_t)snprintf(text + length, sizeof(text) - length, "%s", i ? ", " : "");
		size_t frame = frame_text(text + length, 1000, frames[i]);
		length += frame < 1000 ? frame : 999;
	}
	snprintf(text + length, sizeof(text) - length, "]");
	fputc(',', output);
	hk_csv_cell_foreign(output, count ? text : "N/A");
}

static const char *file_of(char *text, size_t size, const char *name, bool has)
{
	if (!name) {
		return "N/A";
	}
	snprintf(text, size, "%s%s", has ? name : "-1", has ? ".pt" : "");
	return text;
}

static void files_write(FILE *output, const struct hk_msprobe_line *line)
{
	char a[1200], b[1200], text[2600];

	snprintf(text, sizeof(text), "['%s', '%s']",
		 file_of(a, sizeof(a), line->name, line->a.has_payload),
		 file_of(b, sizeof(b), line->b_name, line->b.has_payload));
	fputc(',', output);
	hk_csv_cell_foreign(output, text);
}

static void sides_write(FILE *output, const struct hk_msprobe_line *line)
{
	char text[HK_CSV_SHAPE_BYTES];

	hk_csv_cell_foreign(output, line->name);
	fputc(',', output);
	hk_csv_cell_foreign(output, line->b_name ? line->b_name : "N/A");
	for (int of_b = 0; of_b < 2; of_b++) {
		fprintf(output, ",%s", hk_msprobe_side_dtype(text, line, of_b));
	}
	for (int of_b = 0; of_b < 2; of_b++) {
		fputc(',', output);
		hk_csv_cell(output, hk_msprobe_side_shape(text, line, of_b));
	}
	for (int of_b = 0; of_b < 2; of_b++) {
		fprintf(output, ",%s", hk_msprobe_side_requires_grad(line, of_b));
	}
}

static void line_write(FILE *output, struct hk_values *values, const struct hk_msprobe_line *line,
		       bool elements)
{
	struct hk_figure_cell a[HK_FIGURES], b[HK_FIGURES];
	char text[HK_OBJECTIONS_BYTES];

	for (int i = 0; i < HK_FIGURES; i++) {
		hk_msprobe_side_figure(&a[i], line, false, (enum hk_figure)i);
		hk_msprobe_side_figure(&b[i], line, true, (enum hk_figure)i);
	}
	sides_write(output, line);
	if (elements) {
		elements_write(output, line);
	} else {
		differences_write(output, a, b);
	}
	figures_write(output, a);
	figures_write(output, b);
	bool consistent = !strcmp(hk_msprobe_side_requires_grad(line, false),
				  hk_msprobe_side_requires_grad(line, true));
	fprintf(output, ",%s,%s,", consistent ? "True" : "False",
		hk_msprobe_result(line->objections));
	hk_csv_cell(output, hk_msprobe_objections(text, line->objections));
	stack_write(output, values, line);
	if (elements) {
		files_write(output, line);
	}
	fputc('\n', output);
}

static bool has_elements(const struct hk_rank_pair *pair)
{
	for (size_t i = 0; i < pair->count; i++) {
		const struct hk_match *match = &pair->matches[i];
		struct hk_dump_row a, b;
		if (match->a == HK_MATCH_NONE || match->b == HK_MATCH_NONE) {
			continue;
		}
		pair->a->ops->row(pair->a, match->a, &a);
		pair->b->ops->row(pair->b, match->b, &b);
		if (a.has_payload && b.has_payload) {
			return true;
		}
	}
	return false;
}

static int pair_write(FILE *output, const struct hk_rank_pair *pair, bool elements)
{
	struct hk_msprobe_lines lines;
	int r = hk_msprobe_lines_init(&lines, pair, elements);

	if (r == 0) {
		r = hk_msprobe_judge(&lines, elements);
	}
	for (size_t i = 0; r == 0 && i < lines.count; i++) {
		line_write(output, pair->a, &lines.list[i], elements);
	}
	hk_msprobe_lines_fini(&lines);
	return r;
}

static int msprobe_write(const struct hk_comparison *comparison, FILE *output)
{
	bool elements = false;
	int r = 0;

	for (size_t i = 0; i < comparison->pair_count; i++) {
		elements |= has_elements(&comparison->pairs[i]);
	}
	fprintf(output, "%s%s%s%s\n", head, elements ? elements_head : statistics_head, tail,
		elements ? ",Data_name" : "");
	for (size_t i = 0; r == 0 && i < comparison->pair_count; i++) {
		r = pair_write(output, &comparison->pairs[i], elements);
	}
	return r < 0 ? r : ferror(output) ? -EIO : 0;
}

const struct hk_comparison_format hk_comparison_format_msprobe_csv = {"msprobe-csv", msprobe_write};
