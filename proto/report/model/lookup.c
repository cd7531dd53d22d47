#include "report/model/lookup.h"

#include <string.h>

size_t hk_report_first_call(const struct hk_report *report, int32_t rank)
{
	size_t low = 0, high = report->call_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (report->calls[middle].rank < rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

uint64_t hk_report_domain_ns(const struct hk_report *report, int32_t rank, const char *domain)
{
	uint64_t sum = 0;

	for (size_t i = hk_report_first_call(report, rank);
	     i < report->call_count && report->calls[i].rank == rank; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (strcmp(call->role, "launcher") != 0 && strcmp(call->domain, domain) == 0) {
			sum += call->numbers.outermost_ns;
		}
	}
	return sum;
}
