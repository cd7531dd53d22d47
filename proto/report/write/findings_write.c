#include "report/write/findings_write.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/finding/share.h"
#include "text/name.h"
#include "text/quantity.h"

#define ID_COLUMNS 64
#define COST_MOST 1.8e19 /* ns, below 2^64 */
#define WIDTH 100u	 /* columns of a line, before its indent */

/* Returns the cost of FINDING as a share of the time of all ranks. */
static double share_of(const struct hk_finding *finding, const struct hk_report *report)
{
	double wall_ns = hk_report_wall_ns(report);

	return wall_ns > 0 ? finding->cost_ns / wall_ns : 0;
}

/* ---- JSON ---- */

static void text_json(struct hk_json *json, const char *key, const char *text)
{
	if (text) {
		hk_json_string(json, key, text);
	} else {
		hk_json_null(json, key);
	}
}

/* Writes the lines of TEXT, which may be NULL, as an array. */
static void lines_json(struct hk_json *json, const char *key, const char *text)
{
	char line[1024];

	hk_json_open(json, key, '[');
	while (text && *text) {
		size_t length = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		hk_json_string(json, NULL, line);
		text += length + (text[length] == '\n');
	}
	hk_json_close(json, ']');
}

static void finding_json(const struct hk_finding *finding, const struct hk_report *report,
			 struct hk_json *json)
{
	bool costs = finding->cost_ns > 0;
	double share = share_of(finding, report);
	uint64_t bits;

	memcpy(&bits, &share, sizeof(bits));
	hk_json_open(json, NULL, '{');
	hk_json_string(json, "kind", finding->kind);
	hk_json_string(json, "topic", hk_finding_topic_name(finding->topic));
	hk_json_string(json, "weight", hk_finding_weight_name(finding->weight));
	hk_json_open(json, "ranks", '[');
	for (size_t i = 0; i < finding->rank_count; i++) {
		hk_json_int(json, NULL, finding->ranks[i]);
	}
	hk_json_close(json, ']');
	text_json(json, "function", finding->function);
	lines_json(json, "stack", finding->stack);
	if (costs) {
		hk_json_uint(json, "cost_ns",
			     finding->cost_ns < COST_MOST ? (uint64_t)finding->cost_ns
							  : UINT64_MAX);
		hk_json_double(json, "share", bits);
	} else {
		hk_json_null(json, "cost_ns");
		hk_json_null(json, "share");
	}
	hk_json_string(json, "confidence", hk_confidence_name(finding->confidence));
	hk_json_string(json, "evidence", finding->text);
	lines_json(json, "details", finding->evidence);
	text_json(json, "advice", finding->advice);
	hk_json_close(json, '}');
}

void hk_findings_write_json(const struct hk_findings *findings, const struct hk_report *report,
			    bool lines, struct hk_json *json)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (lines) {
			hk_json_newline(json);
			putc_unlocked(' ', json->output);
		}
		finding_json(&findings->list[i], report, json);
	}
}

/* ---- text ---- */

static void head_write(const struct hk_report *report, FILE *output)
{
	const struct hk_report_job *job = &report->job;
	char id[HK_NAME_BYTES(ID_COLUMNS)], state[HK_NAME_BYTES(ID_COLUMNS)];
	char time[HK_QUANTITY_BYTES];
	size_t nodes = job->nodes > 1 ? job->nodes : 1;

	hk_name_print(id, ID_COLUMNS, job->id);
	hk_name_print(state, ID_COLUMNS, *job->exit ? job->exit : "running");
	fprintf(output, "hooktrace why  %s  %s, %s  %zu/%" PRId32 " ranks, %zu node%s\n\n", id,
		state, hk_quantity_time(time, (double)job->duration_ns), report->rank_count,
		job->world_size > 0 ? job->world_size : (int32_t)report->rank_count, nodes,
		nodes == 1 ? "" : "s");
}

/* Writes TEXT, words of which go to further lines if they are too many for one. All lines but the
 * first begin with INDENT spaces. */
static void wrap(const char *text, unsigned indent, FILE *output)
{
	unsigned column = 0;

	while (*text) {
		unsigned length = (unsigned)strcspn(text, " ");
		if (column > 0 && column + 1 + length > WIDTH) {
			fprintf(output, "\n%*s", (int)indent, "");
			column = 0;
		} else if (column > 0) {
			fputc(' ', output);
			column++;
		}
		fprintf(output, "%.*s", (int)length, text);
		column += length;
		text += length;
		text += *text == ' ';
	}
	fputc('\n', output);
}

static void lines_write(const char *text, FILE *output)
{
	char line[1024];

	while (text && *text) {
		size_t length = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		fputs("     ", output);
		wrap(line, 7, output);
		text += length + (text[length] == '\n');
	}
}

static void stack_write(const struct hk_finding *finding, FILE *output)
{
	char line[4096] = "";
	size_t used = 0;

	for (const char *text = finding->stack; text && *text && used < sizeof(line);) {
		size_t length = strcspn(text, "\n");
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.*s",
					 used > 0 ? " <- " : "", (int)length, text);
		text += length + (text[length] == '\n');
	}
	if (used > 0) {
		fputs("     ", output);
		wrap(line, 7, output);
	}
}

static void finding_write(const struct hk_finding *finding, const struct hk_report *report,
			  size_t number, bool colour, FILE *output)
{
	char cost[HK_QUANTITY_BYTES];
	bool sure = finding->confidence == HK_CONFIDENCE_HIGH;

	fprintf(output, "%s%zu  ", colour ? (sure ? "\033[1;31m" : "\033[1m") : "", number);
	wrap(finding->text, 3, output);
	fputs(colour ? "\033[0m" : "", output);
	fprintf(output, "     confidence %s", hk_confidence_name(finding->confidence));
	if (finding->cost_ns > 0) {
		fprintf(output, "; costs %s, %.1f %% of the ranks' time",
			hk_quantity_time(cost, finding->cost_ns), 100 * share_of(finding, report));
	}
	fputc('\n', output);
	lines_write(finding->evidence, output);
	stack_write(finding, output);
	if (finding->advice) {
		fputs("     next: ", output);
		wrap(finding->advice, 7, output);
	}
	fputc('\n', output);
}

/* Writes the sentences that say how far the numbers can be trusted. */
static void quality_write(const struct hk_findings *findings, FILE *output)
{
	bool any = false;

	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		bool about = finding->topic == HK_TOPIC_RECORDS ||
			     finding->topic == HK_TOPIC_CLOCKS || finding->topic == HK_TOPIC_COST;
		if (finding->weight == HK_WEIGHT_WARNING ||
		    (finding->weight == HK_WEIGHT_FACT && about)) {
			fputs(any ? "  - " : "Data quality:\n  - ", output);
			wrap(finding->text, 4, output);
			any = true;
		}
	}
}

/* Writes the facts of topics FIRST to LAST under TITLE. */
static void facts_write(const struct hk_findings *findings, enum hk_finding_topic first,
			enum hk_finding_topic last, const char *title, FILE *output)
{
	bool any = false;

	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		if (finding->topic >= first && finding->topic <= last &&
		    finding->weight == HK_WEIGHT_FACT) {
			fprintf(output, "%s  - ", any ? "" : title);
			wrap(finding->text, 4, output);
			lines_write(finding->evidence, output);
			any = true;
		}
	}
	fputs(any ? "\n" : "", output);
}

int hk_findings_write_text(const struct hk_findings *findings, const struct hk_report *report,
			   const struct hk_report_style *style, FILE *output)
{
	size_t number = 0;

	head_write(report, output);
	for (size_t i = 0; i < findings->count; i++) {
		if (findings->list[i].weight == HK_WEIGHT_FINDING) {
			finding_write(&findings->list[i], report, ++number, style && style->colour,
				      output);
		}
	}
	if (number == 0) {
		fputs("Nothing stands out.\n\n", output);
		facts_write(findings, HK_TOPIC_TIME, HK_TOPIC_MEMORY, "What there is:\n", output);
	}
	facts_write(findings, HK_TOPIC_WAITS, HK_TOPIC_WAITS, "Collectives so far:\n", output);
	facts_write(findings, HK_TOPIC_PATH, HK_TOPIC_PATH, "Critical path:\n", output);
	quality_write(findings, output);
	return ferror(output) ? -EIO : 0;
}
