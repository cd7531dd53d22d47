/* finding.h: one sentence about a report: where time went, whether the ranks were even, where
 * memory peaked, what was lost, how exact the clocks are, what tracing cost.
 *
 * Each sentence names the numbers of the report that support it. Without evidence there is no
 * sentence. Names in it hold no terminal control sequences, and its bytes are valid UTF-8. Locked
 * by the caller.
 */
#ifndef HK_REPORT_FINDINGS_FINDING_H
#define HK_REPORT_FINDINGS_FINDING_H

#include <stddef.h>

#include "report/model/report.h"

enum hk_finding_topic {
	HK_TOPIC_TIME,
	HK_TOPIC_BALANCE,
	HK_TOPIC_MEMORY,
	HK_TOPIC_RECORDS,
	HK_TOPIC_CLOCKS,
	HK_TOPIC_COST,
	HK_TOPIC_COVERAGE,
	HK_TOPIC_DIVERGENCE,
};

enum hk_finding_weight {
	HK_WEIGHT_FACT,	   /* a plain number of general interest */
	HK_WEIGHT_FINDING, /* suggests a change of the job; in the summary too */
	HK_WEIGHT_WARNING, /* limits how far numbers can be trusted; in the summary too */
};

struct hk_finding {
	enum hk_finding_topic topic;
	enum hk_finding_weight weight;
	char *text; /* one line, without a newline */
};

struct hk_findings {
	struct hk_finding *list; /* warnings in the summary's order, then findings, then facts */
	size_t count;
	int error; /* -ENOMEM: a sentence is missing */
};

/* Frees the memory of FINDINGS. */
void hk_findings_fini(struct hk_findings *findings);

/* Adds one sentence. Sets `error` if out of memory. */
__attribute__((format(printf, 4, 5))) void hk_finding_add(struct hk_findings *findings,
							  enum hk_finding_topic topic,
							  enum hk_finding_weight weight,
							  const char *format, ...);

/* "time", "balance", ...; static. */
const char *hk_finding_topic_name(enum hk_finding_topic topic);
/* "fact", "finding", "warning"; static. */
const char *hk_finding_weight_name(enum hk_finding_weight weight);

#endif
