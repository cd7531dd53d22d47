#include "report/agreement/agreements.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/hook.h"
#include "report/model/numbers.h"

#define RANKS_TEXT_BYTES 160u

/* Writes RANKS, which rise, to TEXT: "0-2,5". Ends in "..." if it does not fit. */
static void ranks_text(const uint32_t *ranks, size_t count, char text[RANKS_TEXT_BYTES])
{
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < count;) {
		size_t last = i;
		while (last + 1 < count && ranks[last + 1] == ranks[last] + 1) {
			last++;
		}
		char range[32];
		snprintf(range, sizeof(range), last > i ? "%s%" PRIu32 "-%" PRIu32 : "%s%" PRIu32,
			 i > 0 ? "," : "", ranks[i], ranks[last]);
		if (used + strlen(range) + sizeof(",...") > RANKS_TEXT_BYTES) {
			memcpy(text + used, ",...", sizeof(",..."));
			return;
		}
		memcpy(text + used, range, strlen(range) + 1);
		used += strlen(range);
		i = last + 1;
	}
}

static int first_fill(struct hk_report *report, struct hk_report_agreement *to,
		      const Hk__Divergence *from)
{
	char odd[RANKS_TEXT_BYTES], others[RANKS_TEXT_BYTES];

	ranks_text(from->odd, from->n_odd, odd);
	ranks_text(from->others, from->n_others, others);
	to->differs = true;
	to->step = from->step;
	to->tensor = hk_report_strings_get(&report->strings, from->tensor);
	to->tensors = from->tensors;
	to->of = from->of;
	to->odd = hk_report_strings_get(&report->strings, odd);
	to->others = hk_report_strings_get(&report->strings, others);
	to->tie = from->tie;
	to->missing = from->missing;
	to->confidence = from->missing > 0 ? "medium" : "high";
	return to->tensor && to->odd && to->others ? 0 : -ENOMEM;
}

static int agreement_fill(struct hk_report *report, struct hk_report_agreement *to,
			  const Hk__Agreement *from)
{
	to->group = hk_report_strings_get(&report->strings, from->group);
	to->expected = from->expected;
	to->reporting = from->reporting;
	to->compared = from->compared;
	to->differing = from->differing;
	to->last_step = from->last_step;
	int r = from->first ? first_fill(report, to, from->first) : 0;
	return to->group ? r : -ENOMEM;
}

static void drop_marks(struct hk_report *report)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->call_count; i++) {
		struct hk_report_call call = report->calls[i];
		if (strcmp(call.domain, HK_AGREEMENT_DOMAIN) == 0) {
			hk_report_numbers_fini(&call.numbers);
		} else {
			report->calls[kept++] = call;
		}
	}
	report->call_count = kept;
}

int hk_report_agreements_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	size_t count = snapshot->job ? snapshot->job->n_agreements : 0;
	int r = 0;

	drop_marks(report);
	report->agreements = calloc(count + 1, sizeof(*report->agreements));
	if (!report->agreements) {
		return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = agreement_fill(report, &report->agreements[report->agreement_count++],
				   snapshot->job->agreements[i]);
	}
	return r;
}
