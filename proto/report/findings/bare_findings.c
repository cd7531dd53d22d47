#include "report/findings/bare_findings.h"

#include <inttypes.h>

#include "report/model/bare.h"
#include "ring/segment.h"
#include "text/name.h"

#define NAME_COLUMNS 48

/* Adds one sentence about all programs with REASON. */
static void reason_add(const struct hk_report *report, uint32_t reason,
		       struct hk_findings *findings)
{
	const struct hk_report_bare *first = NULL;
	char name[HK_NAME_BYTES(NAME_COLUMNS)], others[80] = "";
	const char *fix = hk_bare_fix(reason);
	uint64_t starts = 0;

	for (size_t i = 0; i < report->bare_count; i++) {
		const struct hk_report_bare *bare = &report->bare[i];
		if (bare->reason == reason) {
			first = first ? first : bare;
			starts += bare->times;
		}
	}
	if (!first) {
		return;
	}
	if (starts > 1) {
		snprintf(others, sizeof(others),
			 "%" PRIu64 " programs started without the agent, first: ", starts);
	}
	hk_name_print_end(name, NAME_COLUMNS, first->program);
	hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING, "%s%s %s (%s)", others, name,
		       hk_bare_words(reason), fix);
}

void hk_findings_add_bare(const struct hk_report *report, struct hk_findings *findings)
{
	for (uint32_t reason = 1; reason <= HK_BARE_REASONS; reason++) {
		reason_add(report, reason, findings);
	}
	if (report->bare_more > 0) {
		hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING,
			       "%" PRIu64 " more programs were started without the agent",
			       report->bare_more);
	}
}
