#include "report/usage/rank_calls.h"

#include <string.h>

#include "report/model/lookup.h"

bool hk_domain_is_joint(const char *domain)
{
	static const char *const domains[] = {"mpi",  "nccl", "rccl", "hccl", "bkcl", "gloo",
					      "c10d", "cuda", "hip",  "acl",  "xpu"};

	for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
		if (strcmp(domain, domains[i]) == 0) {
			return true;
		}
	}
	return false;
}

struct hk_rank_calls hk_rank_calls_sum(const struct hk_report *report, int32_t rank,
				       hk_call_wanted_fn *wanted)
{
	struct hk_rank_calls sum = {0};

	for (size_t i = hk_report_first_call(report, rank);
	     i < report->call_count && report->calls[i].rank == rank; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (strcmp(call->role, "main") != 0 || !call->numbers.have_total || !wanted(call)) {
			continue;
		}
		sum.ns += (double)call->numbers.outermost_ns;
		sum.total_ns += (double)call->numbers.total_ns;
		sum.calls += call->numbers.calls;
		sum.bytes += call->numbers.have_bytes ? call->numbers.bytes : 0;
		if (!sum.most || call->numbers.total_ns > sum.most->numbers.total_ns) {
			sum.most = call;
		}
	}
	return sum;
}
