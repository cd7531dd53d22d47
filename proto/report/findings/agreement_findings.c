#include "report/findings/agreement_findings.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text/name.h"

#define NAME_COLUMNS 96

/* What to look at, by the beginning of the group's text. */
static const struct {
	const char *group, *advice;
} advices[] = {
    {"inputs", "compare the seeds and the broadcast of the inputs"},
    {"gradients", "compare the inputs of all-reduce: hookcli compare of dumps of this step"},
    {"parameters", "restore a checkpoint from before this step, and check that rank's machine"},
};

static const char *advice_for(const char *group)
{
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		if (strncmp(group, advices[i].group, strlen(advices[i].group)) == 0) {
			return advices[i].advice;
		}
	}
	return "compare dumps of this step: hookcli compare";
}

static const char *plural(const char *ranks)
{
	return strpbrk(ranks, "-,") ? "s" : "";
}

/* Writes which ranks differ, by the group's majority if it has one. */
static void ranks_print(char *text, size_t size, const struct hk_report_agreement *row)
{
	bool one = !*plural(row->odd);

	if (row->tie) {
		snprintf(text, size, "rank%s %s and rank%s %s differ", plural(row->others),
			 row->others, plural(row->odd), row->odd);
	} else {
		snprintf(text, size, "rank%s %s equal, rank%s %s differ%s", plural(row->others),
			 row->others, plural(row->odd), row->odd, one ? "s" : "");
	}
}

static void difference_add(struct hk_findings *findings, const struct hk_report_agreement *row)
{
	char tensor[HK_NAME_BYTES(NAME_COLUMNS)], group[HK_NAME_BYTES(NAME_COLUMNS)];
	char what[sizeof(tensor) + 16] = "names of the values", ranks[512], missing[64] = "";

	hk_name_print(tensor, NAME_COLUMNS, row->tensor);
	hk_name_print(group, NAME_COLUMNS, row->group);
	ranks_print(ranks, sizeof(ranks), row);
	if (*row->tensor) {
		snprintf(what, sizeof(what), "digest of %s", tensor);
	}
	if (row->missing > 0) {
		snprintf(missing, sizeof(missing), ", %" PRIu32 " ranks did not report it",
			 row->missing);
	}
	hk_finding_add(findings, HK_TOPIC_DIVERGENCE, HK_WEIGHT_FINDING,
		       "%s: %s at step %" PRIu64 ": %s%s (%" PRIu32 " of %" PRIu32
		       " tensors differ there, this is the first; %" PRIu64 " of %" PRIu64
		       " compared steps differ; confidence %s): %s",
		       group, what, row->step, ranks, missing, row->tensors, row->of,
		       row->differing, row->compared, row->confidence, advice_for(row->group));
}

static void equal_add(struct hk_findings *findings, const struct hk_report_agreement *row,
		      bool closed)
{
	char group[HK_NAME_BYTES(NAME_COLUMNS)];

	hk_name_print(group, NAME_COLUMNS, row->group);
	if (row->compared > 0) {
		hk_finding_add(findings, HK_TOPIC_DIVERGENCE, HK_WEIGHT_FACT,
			       "%s are equal on %" PRIu32 " ranks at all %" PRIu64
			       " compared steps, the last one %" PRIu64,
			       group, row->expected, row->compared, row->last_step);
	} else if (closed) {
		hk_finding_add(findings, HK_TOPIC_DIVERGENCE, HK_WEIGHT_WARNING,
			       "%s were not compared: no step was reported by all %" PRIu32
			       " ranks, %" PRIu32 " of them reported any (a higher every=, level "
			       "record)",
			       group, row->expected, row->reporting);
	}
}

void hk_findings_add_agreements(const struct hk_report *report, struct hk_findings *findings)
{
	uint64_t after = 0;
	bool more = true;

	/* By step. Differences of one step stay in the order of the report. */
	while (more) {
		uint64_t next = UINT64_MAX;
		for (size_t i = 0; i < report->agreement_count; i++) {
			const struct hk_report_agreement *row = &report->agreements[i];
			if (row->differs && row->step == after) {
				difference_add(findings, row);
			} else if (row->differs && row->step > after && row->step < next) {
				next = row->step;
			}
		}
		more = next != UINT64_MAX;
		after = next;
	}
	for (size_t i = 0; i < report->agreement_count; i++) {
		if (!report->agreements[i].differs) {
			equal_add(findings, &report->agreements[i], report->job.closed);
		}
	}
}
