#include "report/write/findings_write.h"
#include "report/trigger/triggers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/finding/share.h"
#include "report/findings/progress/hang.h"
#include "text/name.h"
#include "text/quantity.h"

#define ID_COLUMNS 64
#define COST_MOST 1.8e19 /* ns, below 2^64 */
#define WIDTH 100u	 /* columns of a line, where the style has none */
#define WIDTH_LEAST 60u

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

/* Where text goes, and how wide its lines are. */
struct page {
	FILE *output;
	unsigned width;
};

/* Returns how many characters of UTF-8 the LENGTH bytes of TEXT are. */
static unsigned columns_of(const char *text, size_t length)
{
	unsigned columns = 0;

	for (size_t i = 0; i < length; i++) {
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	}
	return columns;
}

/* Writes TEXT from COLUMN on. Words for which a line has no room go to further lines, which begin
 * with INDENT spaces. */
static void wrap(const struct page *page, const char *text, unsigned column, unsigned indent)
{
	bool first = true;

	while (*text) {
		size_t length = strcspn(text, " ");
		unsigned columns = columns_of(text, length);
		if (!first && column + 1 + columns > page->width) {
			fprintf(page->output, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			fputc(' ', page->output);
			column++;
		}
		first = false;
		fprintf(page->output, "%.*s", (int)length, text);
		column += columns;
		text += length;
		text += *text == ' ';
	}
	fputc('\n', page->output);
}

static void head_write(const struct page *page, const struct hk_report *report)
{
	const struct hk_report_job *job = &report->job;
	char id[HK_NAME_BYTES(ID_COLUMNS)], state[HK_NAME_BYTES(ID_COLUMNS)];
	char time[HK_QUANTITY_BYTES], line[1024];
	size_t nodes = job->nodes > 1 ? job->nodes : 1;

	hk_name_print(id, ID_COLUMNS, job->id);
	hk_name_print(state, ID_COLUMNS, *job->exit ? job->exit : "running");
	snprintf(line, sizeof(line), "hooktrace why  %s  %s, %s  %zu/%" PRId32 " ranks, %zu node%s",
		 id, state, hk_quantity_time(time, (double)job->duration_ns), report->rank_count,
		 job->world_size > 0 ? job->world_size : (int32_t)report->rank_count, nodes,
		 nodes == 1 ? "" : "s");
	wrap(page, line, 0, 7);
	fputc('\n', page->output);
}

static void lines_write(const struct page *page, const char *text)
{
	char line[1024];

	while (text && *text) {
		size_t length = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		fputs("     ", page->output);
		wrap(page, line, 5, 7);
		text += length + (text[length] == '\n');
	}
}

static void stack_write(const struct page *page, const struct hk_finding *finding)
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
		fputs("     ", page->output);
		wrap(page, line, 5, 7);
	}
}

static void advice_write(const struct page *page, const struct hk_finding *finding)
{
	static const char next[] = "     next: ";

	if (finding->advice) {
		fputs(next, page->output);
		wrap(page, finding->advice, sizeof(next) - 1, 7);
	}
}

static void finding_write(const struct page *page, const struct hk_finding *finding,
			  const struct hk_report *report, size_t number, bool colour)
{
	char cost[HK_QUANTITY_BYTES], costs[96] = "", line[160], begin[16];
	bool sure = finding->confidence == HK_CONFIDENCE_HIGH;
	int length = snprintf(begin, sizeof(begin), "%zu  ", number);

	fprintf(page->output, "%s%s", colour ? (sure ? "\033[1;31m" : "\033[1m") : "", begin);
	wrap(page, finding->text, (unsigned)length, 3);
	fputs(colour ? "\033[0m" : "", page->output);
	if (finding->cost_ns > 0) {
		snprintf(costs, sizeof(costs), "; costs %s, %.1f %% of the ranks' time",
			 hk_quantity_time(cost, finding->cost_ns), 100 * share_of(finding, report));
	}
	snprintf(line, sizeof(line), "confidence %s%s", hk_confidence_name(finding->confidence),
		 costs);
	lines_write(page, line);
	lines_write(page, finding->evidence);
	stack_write(page, finding);
	advice_write(page, finding);
	fputc('\n', page->output);
}

/* Writes the sentences that say how far the numbers can be trusted. */
static void quality_write(const struct page *page, const struct hk_findings *findings)
{
	bool any = false;

	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		bool about = finding->topic == HK_TOPIC_RECORDS ||
			     finding->topic == HK_TOPIC_CLOCKS || finding->topic == HK_TOPIC_COST;
		if (finding->weight == HK_WEIGHT_WARNING ||
		    (finding->weight == HK_WEIGHT_FACT && about)) {
			fputs(any ? "  - " : "Data quality:\n  - ", page->output);
			wrap(page, finding->text, 4, 4);
			any = true;
		}
	}
}

static bool is_no_progress(const struct hk_finding *finding)
{
	return strcmp(finding->kind, HK_NO_PROGRESS) == 0;
}

/* Writes the facts of topics FIRST to LAST under TITLE. */
static void facts_write(const struct page *page, const struct hk_findings *findings,
			enum hk_finding_topic first, enum hk_finding_topic last, const char *title)
{
	bool any = false;

	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		if (finding->topic >= first && finding->topic <= last &&
		    finding->weight == HK_WEIGHT_FACT && !is_no_progress(finding)) {
			fprintf(page->output, "%s  - ", any ? "" : title);
			wrap(page, finding->text, 4, 4);
			lines_write(page, finding->evidence);
			advice_write(page, finding);
			any = true;
		}
	}
	fputs(any ? "\n" : "", page->output);
}

/* Writes that nothing stands out; or, if ranks have stopped just now, that they have. */
static void nothing_write(const struct page *page, const struct hk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (is_no_progress(&findings->list[i])) {
			wrap(page, findings->list[i].text, 0, 0);
			fputc('\n', page->output);
			return;
		}
	}
	fputs("Nothing stands out.\n\n", page->output);
}

int hk_findings_write_text(const struct hk_findings *findings, const struct hk_report *report,
			   const struct hk_report_style *style, FILE *output)
{
	unsigned columns = style && style->columns > 0 ? style->columns : WIDTH;
	const struct page page = {output, columns > WIDTH_LEAST ? columns : WIDTH_LEAST};
	size_t number = 0;

	head_write(&page, report);
	for (size_t i = 0; i < findings->count; i++) {
		if (findings->list[i].weight == HK_WEIGHT_FINDING) {
			finding_write(&page, &findings->list[i], report, ++number,
				      style && style->colour);
		}
	}
	if (number == 0) {
		nothing_write(&page, findings);
		facts_write(&page, findings, HK_TOPIC_TIME, HK_TOPIC_MEMORY, "What there is:\n");
	}
	facts_write(&page, findings, HK_TOPIC_WAITS, HK_TOPIC_WAITS, "Collectives so far:\n");
	facts_write(&page, findings, HK_TOPIC_PATH, HK_TOPIC_PATH, "Critical path:\n");
	hk_report_triggers_write(report, "", style ? style->files : NULL, output);
	quality_write(&page, findings);
	return ferror(output) ? -EIO : 0;
}
