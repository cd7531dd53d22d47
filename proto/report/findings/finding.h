/* finding.h: what a report says in sentences: where time went, whether the ranks were even, where
 * memory peaked, what was lost, how sure the clocks are, what tracing cost.
 *
 * Each sentence stands on numbers of the report and names them; without evidence there is none.
 * Names in it are harmless to a terminal, its bytes are valid UTF-8. Locked by the caller.
 */
#ifndef HK_REPORT_FINDINGS_FINDING_H
#define HK_REPORT_FINDINGS_FINDING_H

#include <stddef.h>

#include "report/model/report.h"

enum hk_verdict_topic {
	HK_VERDICT_TIME,
	HK_VERDICT_BALANCE,
	HK_VERDICT_MEMORY,
	HK_VERDICT_RECORDS,
	HK_VERDICT_CLOCKS,
	HK_VERDICT_COST,
	HK_VERDICT_COVERAGE,
};

enum hk_verdict_weight {
	HK_VERDICT_FACT,    /* what a reader asks for anyway */
	HK_VERDICT_FINDING, /* something to do about the job: the summary shows it, too */
	HK_VERDICT_WARNING, /* to be known before a number is believed: likewise */
};

struct hk_verdict {
	enum hk_verdict_topic topic;
	enum hk_verdict_weight weight;
	char *text; /* one line, no end of line */
};

struct hk_verdicts {
	struct hk_verdict *list; /* warnings as the summary orders them, findings, facts */
	size_t count;
	int error; /* -ENOMEM: one is missing */
};

/* Frees what VERDICTS holds. */
void hk_verdicts_fini(struct hk_verdicts *verdicts);

/* Adds one sentence; without memory it sets `error`. */
__attribute__((format(printf, 4, 5))) void hk_verdict_add(struct hk_verdicts *verdicts,
							  enum hk_verdict_topic topic,
							  enum hk_verdict_weight weight,
							  const char *format, ...);

/* "time", "balance", ...; static. */
const char *hk_verdict_topic_name(enum hk_verdict_topic topic);
/* "fact", "finding", "warning"; static. */
const char *hk_verdict_weight_name(enum hk_verdict_weight weight);

#endif
