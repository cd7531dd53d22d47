#include "report/findings/finding.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const topics[] = {"time",   "balance", "memory",  "records",
				     "clocks", "cost",	  "coverage"};
static const char *const weights[] = {"fact", "finding", "warning"};

const char *hk_verdict_topic_name(enum hk_verdict_topic topic)
{
	return topics[topic];
}

const char *hk_verdict_weight_name(enum hk_verdict_weight weight)
{
	return weights[weight];
}

void hk_verdict_add(struct hk_verdicts *verdicts, enum hk_verdict_topic topic,
		    enum hk_verdict_weight weight, const char *format, ...)
{
	struct hk_verdict *list =
	    reallocarray(verdicts->list, verdicts->count + 1, sizeof(*verdicts->list));
	struct hk_verdict verdict = {.topic = topic, .weight = weight};
	va_list arguments;

	verdicts->list = list ? list : verdicts->list;
	va_start(arguments, format);
	int length = list ? vasprintf(&verdict.text, format, arguments) : -1;
	va_end(arguments);
	if (length < 0) {
		verdicts->error = -ENOMEM;
		return;
	}
	list[verdicts->count++] = verdict;
}

void hk_verdicts_fini(struct hk_verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->count; i++) {
		free(verdicts->list[i].text);
	}
	free(verdicts->list);
	*verdicts = (struct hk_verdicts){0};
}
