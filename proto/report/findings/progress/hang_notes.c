#include "report/findings/progress/hang_notes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How sentences begin, while a hang lasts and afterwards. */
static const char *const begins[][2] = {{"the job is stuck", "the job was stuck"},
					{"nothing gets through", "nothing got through"}};

bool hk_is_hang_note(const struct hk_report_note *note)
{
	return strcmp(note->kind, HK_HANG_NOTE) == 0 || strcmp(note->kind, HK_HANG_STACK_NOTE) == 0;
}

static const struct hk_report_note *note_of(const struct hk_report *report, const char *kind)
{
	for (size_t i = 0; i < report->note_count; i++) {
		if (strcmp(report->notes[i].kind, kind) == 0) {
			return &report->notes[i];
		}
	}
	return NULL;
}

static struct hk_finding *hang_of(struct hk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		struct hk_finding *finding = &findings->list[i];
		if (finding->topic == HK_TOPIC_PROGRESS && strcmp(finding->kind, "death") != 0) {
			return finding;
		}
	}
	return NULL;
}

/* Says of a hang that has passed whether the job went on. One that was ended in it fails. */
static const char *went_on(const struct hk_report *report)
{
	bool done = strcmp(report->job.exit, "exit 0") == 0;

	return !report->job.closed || done ? "; it went on later" : "";
}

/* Adds the hang that NOTE has, which has passed. */
static struct hk_finding *passed_add(struct hk_findings *findings, const struct hk_report *report,
				     const struct hk_report_note *note)
{
	const char *begin = "", *rest = note->text;

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		if (strncmp(note->text, begins[i][0], strlen(begins[i][0])) == 0) {
			begin = begins[i][1];
			rest = note->text + strlen(begins[i][0]);
		}
	}
	hk_finding_add(findings, HK_TOPIC_BALANCE, HK_WEIGHT_FINDING, "%s%s%s", begin, rest,
		       went_on(report));
	hk_finding_classify(findings, "hang", HK_CONFIDENCE_MEDIUM, 0);
	if (note->rank >= 0) {
		hk_finding_about_rank(findings, note->rank);
	}
	return findings->error == 0 ? &findings->list[findings->current] : NULL;
}

/* Returns TEXT, functions with HK_HANG_CALLER between them, as lines; NULL without memory. */
static char *lines_of(const char *text)
{
	char *lines = NULL;
	size_t size;
	FILE *output = open_memstream(&lines, &size);

	while (output && *text) {
		const char *next = strstr(text, HK_HANG_CALLER);
		size_t length = next ? (size_t)(next - text) : strlen(text);
		fprintf(output, "%.*s\n", (int)length, text);
		text += length + (next ? strlen(HK_HANG_CALLER) : 0);
	}
	return output && fclose(output) == 0 ? lines : NULL;
}

void hk_hang_notes_add(struct hk_findings *findings, const struct hk_report *report)
{
	const struct hk_report_note *hang = note_of(report, HK_HANG_NOTE);
	const struct hk_report_note *stack = note_of(report, HK_HANG_STACK_NOTE);
	struct hk_finding *finding = hang_of(findings);

	if (!finding && hang) {
		finding = passed_add(findings, report, hang);
	}
	if (finding && stack && !finding->stack && finding->rank_count > 0 &&
	    finding->ranks[0] == stack->rank) {
		finding->stack = lines_of(stack->text);
		findings->error = finding->stack ? findings->error : -ENOMEM;
	}
}
