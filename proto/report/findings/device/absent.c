#include "report/findings/device/absent.h"

#include <inttypes.h>
#include <string.h>

/* The functions that programs ask first, and what their commonest errors mean. */
static const struct {
	const char *function, *errors;
} questions[] = {
    {"cudaGetDeviceCount", "35: no CUDA driver, or one older than the runtime; 100: no device"},
    {"cuInit", "100: no device; 803: the driver's parts are of different versions"},
    {"hipGetDeviceCount", "35: no driver, or an older one; 100: no device"},
};

void hk_findings_add_absent_devices(const struct hk_report *report, struct hk_findings *findings)
{
	for (size_t k = 0; k < sizeof(questions) / sizeof(questions[0]); k++) {
		uint64_t calls = 0, errors = 0;
		int32_t rank = -1;
		for (size_t i = 0; i < report->call_count; i++) {
			const struct hk_report_call *call = &report->calls[i];
			if (strcmp(call->function, questions[k].function) == 0 &&
			    strcmp(call->role, "main") == 0) {
				rank = errors == 0 && call->numbers.errors > 0 ? call->rank : rank;
				calls += call->numbers.calls;
				errors += call->numbers.errors;
			}
		}
		if (errors > 0) {
			hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING,
				       "%s failed in %" PRIu64 " of %" PRIu64
				       " calls, first on rank %" PRId32 " (%s)",
				       questions[k].function, errors, calls, rank,
				       questions[k].errors);
		}
	}
}
