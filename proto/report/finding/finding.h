/* finding.h: one sentence about a report: where time went, whether the ranks were even, where
 * memory peaked, what was lost, how exact the clocks are, what tracing cost.
 *
 * Each sentence names the numbers of the report that support it. Without evidence there is no
 * sentence. A finding that suggests a change of the job also says which ranks it is about, what it
 * cost, how sure it is, and what to look at next. Names in it hold no terminal control sequences,
 * and its bytes are valid UTF-8. Locked by the caller.
 */
#ifndef HK_REPORT_FINDING_FINDING_H
#define HK_REPORT_FINDING_FINDING_H

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
	HK_TOPIC_PROGRESS, /* ranks that wait without end, or have died */
	HK_TOPIC_WAITS,	   /* how far apart ranks enter collectives */
	HK_TOPIC_PATH,	   /* what the critical path goes through */
};

enum hk_finding_weight {
	HK_WEIGHT_FACT,	   /* a plain number of general interest */
	HK_WEIGHT_FINDING, /* suggests a change of the job; in the summary too */
	HK_WEIGHT_WARNING, /* limits how far numbers can be trusted; in the summary too */
};

enum hk_confidence {
	HK_CONFIDENCE_LOW,
	HK_CONFIDENCE_MEDIUM,
	HK_CONFIDENCE_HIGH,
};

struct hk_finding {
	enum hk_finding_topic topic;
	enum hk_finding_weight weight;
	enum hk_confidence confidence;
	const char *kind; /* "hang", "death", "late-rank"; the topic's name if not set; static */
	char *text;	  /* one line, without a newline */
	int32_t *ranks;	  /* ranks that it is about, in order; none: the whole job */
	size_t rank_count;
	char *function; /* hooked function that it is about; NULL: none */
	char *evidence; /* further lines with numbers, each with a newline; NULL: none */
	char *stack;  /* functions of the first of `ranks`, a line each, innermost first; or NULL */
	char *advice; /* what to look at next; NULL: nothing */
	double cost_ns; /* time lost by it, summed over the ranks; 0: not known */
};

struct hk_findings {
	/* Hangs and deaths, then other findings by the time that they cost, those of low confidence
	 * last; then warnings, and facts. */
	struct hk_finding *list;
	size_t count;
	size_t current; /* the one that the following functions complete */
	char *job;	/* the job's name as a shell takes it; NULL: advice names no job */
	int error;	/* -ENOMEM: something is missing */
};

/* Begins an empty list, the advice of which is about the job called ID. */
void hk_findings_begin(struct hk_findings *findings, const char *id);

/* Frees the memory of FINDINGS. */
void hk_findings_fini(struct hk_findings *findings);

/* Adds one sentence. Returns it, valid until the next one is added; or sets `error` if out of
 * memory and returns NULL. */
__attribute__((format(printf, 4, 5))) struct hk_finding *
hk_finding_add(struct hk_findings *findings, enum hk_finding_topic topic,
	       enum hk_finding_weight weight, const char *format, ...);

/* The following complete the current finding: the last one that was added, or FINDINGS->current.
 * Out of memory they do nothing but set `error`. */
void hk_finding_classify(struct hk_findings *findings, const char *kind,
			 enum hk_confidence confidence, double cost_ns);
void hk_finding_about_rank(struct hk_findings *findings, int32_t rank);
void hk_finding_about_function(struct hk_findings *findings, const char *function);
/* Adds one line of evidence. */
__attribute__((format(printf, 2, 3))) void hk_finding_evidence(struct hk_findings *findings,
							       const char *format, ...);
/* Sets the advice. Commands in it that look at a job get the job's name, except behind "then ":
 * those look at a further run. */
__attribute__((format(printf, 2, 3))) void hk_finding_advise(struct hk_findings *findings,
							     const char *format, ...);

/* Puts FINDINGS into the order that struct hk_findings states. */
void hk_findings_sort(struct hk_findings *findings);

/* "low", "medium", "high"; static. */
const char *hk_confidence_name(enum hk_confidence confidence);
/* "time", "balance", ...; static. */
const char *hk_finding_topic_name(enum hk_finding_topic topic);
/* "fact", "finding", "warning"; static. */
const char *hk_finding_weight_name(enum hk_finding_weight weight);

#endif
