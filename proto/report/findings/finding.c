#include "report/findings/finding.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const topics[] = {"time",   "balance", "memory",   "records",
				     "clocks", "cost",	  "coverage", "divergence"};
static const char *const weights[] = {"fact", "finding", "warning"};

const char *hk_finding_topic_name(enum hk_finding_topic topic)
{
	return topics[topic];
}

const char *hk_finding_weight_name(enum hk_finding_weight weight)
{
	return weights[weight];
}

void hk_finding_add(struct hk_findings *findings, enum hk_finding_topic topic,
		    enum hk_finding_weight weight, const char *format, ...)
{
	struct hk_finding *list =
	    reallocarray(findings->list, findings->count + 1, sizeof(*findings->list));
	struct hk_finding finding = {.topic = topic, .weight = weight};
	va_list arguments;

	findings->list = list ? list : findings->list;
	va_start(arguments, format);
	int length = list ? vasprintf(&finding.text, format, arguments) : -1;
	va_end(arguments);
	if (length < 0) {
		findings->error = -ENOMEM;
		return;
	}
	list[findings->count++] = finding;
}

void hk_findings_fini(struct hk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->list[i].text);
	}
	free(findings->list);
	*findings = (struct hk_findings){0};
}
