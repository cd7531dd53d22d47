#include "report/finding/finding.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/finding/commands.h"

static const char *const topics[] = {"time",	 "balance", "memory",	"records",
				     "clocks",	 "cost",    "coverage", "divergence",
				     "progress", "waits",   "path"};
static const char *const weights[] = {"fact", "finding", "warning"};
static const char *const confidences[] = {"low", "medium", "high"};

const char *hk_finding_topic_name(enum hk_finding_topic topic)
{
	return topics[topic];
}

const char *hk_finding_weight_name(enum hk_finding_weight weight)
{
	return weights[weight];
}

const char *hk_confidence_name(enum hk_confidence confidence)
{
	return confidences[confidence];
}

void hk_findings_begin(struct hk_findings *findings, const char *id)
{
	*findings = (struct hk_findings){.job = hk_commands_job(id)};
}

struct hk_finding *hk_finding_add(struct hk_findings *findings, enum hk_finding_topic topic,
				  enum hk_finding_weight weight, const char *format, ...)
{
	struct hk_finding *list =
	    reallocarray(findings->list, findings->count + 1, sizeof(*findings->list));
	struct hk_finding finding = {
	    .topic = topic, .weight = weight, .confidence = HK_CONFIDENCE_HIGH};
	va_list arguments;

	findings->list = list ? list : findings->list;
	va_start(arguments, format);
	int length = list ? vasprintf(&finding.text, format, arguments) : -1;
	va_end(arguments);
	if (length < 0) {
		findings->error = -ENOMEM;
		return NULL;
	}
	finding.kind = topics[topic];
	findings->current = findings->count++;
	list[findings->current] = finding;
	return &list[findings->current];
}

/* Returns the current finding, or NULL if there is none or something is missing. */
static struct hk_finding *current_of(struct hk_findings *findings)
{
	return findings->error == 0 && findings->current < findings->count
		   ? &findings->list[findings->current]
		   : NULL;
}

void hk_finding_classify(struct hk_findings *findings, const char *kind,
			 enum hk_confidence confidence, double cost_ns)
{
	struct hk_finding *finding = current_of(findings);

	if (finding) {
		finding->kind = kind;
		finding->confidence = confidence;
		finding->cost_ns = cost_ns;
	}
}

void hk_finding_about_rank(struct hk_findings *findings, int32_t rank)
{
	struct hk_finding *finding = current_of(findings);
	int32_t *ranks =
	    finding ? reallocarray(finding->ranks, finding->rank_count + 1, sizeof(*finding->ranks))
		    : NULL;

	if (!ranks) {
		findings->error = finding ? -ENOMEM : findings->error;
		return;
	}
	ranks[finding->rank_count++] = rank;
	finding->ranks = ranks;
}

void hk_finding_about_function(struct hk_findings *findings, const char *function)
{
	struct hk_finding *finding = current_of(findings);

	if (finding) {
		free(finding->function);
		finding->function = strdup(function);
		findings->error = finding->function ? findings->error : -ENOMEM;
	}
}

void hk_finding_evidence(struct hk_findings *findings, const char *format, ...)
{
	struct hk_finding *finding = current_of(findings);
	char *line = NULL, *whole = NULL;
	va_list arguments;

	if (!finding) {
		return;
	}
	va_start(arguments, format);
	int length = vasprintf(&line, format, arguments);
	va_end(arguments);
	if (length >= 0) {
		length =
		    asprintf(&whole, "%s%s\n", finding->evidence ? finding->evidence : "", line);
		free(line);
	}
	if (length < 0) {
		findings->error = -ENOMEM;
		return;
	}
	free(finding->evidence);
	finding->evidence = whole;
}

/* Returns ADVICE with the job's name in it, or NULL without memory. Frees ADVICE. */
static char *with_job(char *advice, const char *job)
{
	char *named = job ? hk_commands_name(advice, job) : NULL;

	if (job) {
		free(advice);
		return named;
	}
	return advice;
}

void hk_finding_advise(struct hk_findings *findings, const char *format, ...)
{
	struct hk_finding *finding = current_of(findings);
	char *advice = NULL;
	va_list arguments;

	if (!finding) {
		return;
	}
	va_start(arguments, format);
	int length = vasprintf(&advice, format, arguments);
	va_end(arguments);
	free(finding->advice);
	finding->advice = length < 0 ? NULL : with_job(advice, findings->job);
	findings->error = finding->advice ? findings->error : -ENOMEM;
}

/* Returns the place of FINDING's group in the list. */
static int group_of(const struct hk_finding *finding)
{
	static const int groups[] = {
	    [HK_WEIGHT_FINDING] = 1, [HK_WEIGHT_WARNING] = 2, [HK_WEIGHT_FACT] = 3};

	return finding->topic == HK_TOPIC_PROGRESS ? 0 : groups[finding->weight];
}

static int by_importance(const struct hk_finding *x, const struct hk_finding *y)
{
	int difference = group_of(x) - group_of(y);

	if (difference != 0 || x->weight != HK_WEIGHT_FINDING) {
		return difference;
	}
	difference = (x->confidence == HK_CONFIDENCE_LOW) - (y->confidence == HK_CONFIDENCE_LOW);
	return difference != 0		 ? difference
	       : x->cost_ns > y->cost_ns ? -1
					 : x->cost_ns < y->cost_ns;
}

/* Inserts one after the other, which keeps the order of equal ones. There are few. */
void hk_findings_sort(struct hk_findings *findings)
{
	for (size_t i = 1; i < findings->count; i++) {
		struct hk_finding moved = findings->list[i];
		size_t at = i;
		while (at > 0 && by_importance(&moved, &findings->list[at - 1]) < 0) {
			findings->list[at] = findings->list[at - 1];
			at--;
		}
		findings->list[at] = moved;
	}
}

void hk_findings_fini(struct hk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->list[i].text);
		free(findings->list[i].ranks);
		free(findings->list[i].function);
		free(findings->list[i].evidence);
		free(findings->list[i].stack);
		free(findings->list[i].advice);
	}
	free(findings->list);
	free(findings->job);
	*findings = (struct hk_findings){0};
}
