#include "report/findings/progress/standing.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "hooks/hook.h"
#include "report/model/activity.h"
#include "report/model/domains.h"
#include "report/model/lookup.h"
#include "report/wait/pattern.h"

static const char *const joint_domains[] = {"mpi", "nccl", "rccl", "hccl", "bkcl"};

static bool is_joint(const struct hk_report_open_call *call)
{
	for (size_t i = 0; i < sizeof(joint_domains) / sizeof(joint_domains[0]); i++) {
		if (strcmp(call->domain, joint_domains[i]) == 0) {
			return call->meaning != HK_MEANING_IO;
		}
	}
	/* A device may wait for the collective of other ranks. */
	return call->meaning == HK_MEANING_WAIT && !hk_domain_is_idle(call->domain);
}

/* Returns the index of the first open call of RANK or of a higher one. */
static size_t first_of(const struct hk_report *report, int32_t rank)
{
	size_t low = 0, high = report->open_call_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (report->open_calls[middle].rank < rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

struct hk_standing hk_standing_of(const struct hk_report *report, const struct hk_report_rank *rank)
{
	struct hk_standing standing = {0};

	for (size_t i = first_of(report, rank->rank);
	     i < report->open_call_count && report->open_calls[i].rank == rank->rank; i++) {
		const struct hk_report_open_call *call = &report->open_calls[i];
		if (call->thread == rank->pid && strcmp(call->role, "main") == 0) {
			standing.last = call;
			standing.joint = !standing.joint && is_joint(call) ? call : standing.joint;
		}
	}
	return standing;
}

/* Returns how much ACTIVITY grew in the last OVER_NS of RANK. */
static double grown(const struct hk_report_activity *activity, const struct hk_report_rank *rank,
		    double over_ns)
{
	double end_ns = fmin(activity->end_ns, (double)rank->end_ns);

	return hk_report_activity_until(activity, end_ns) -
	       hk_report_activity_until(activity, end_ns - over_ns);
}

double hk_calls_lately(const struct hk_report *report, const struct hk_report_rank *rank,
		       double over_ns)
{
	size_t count;
	const struct hk_report_activity *rows = hk_report_activity_find(
	    report, rank->rank, HK__ACTIVITY_KIND__ACTIVITY_CALLS, "", &count);

	return rows ? grown(&rows[count - 1], rank, over_ns) / (over_ns / 1e9) : (double)NAN;
}

bool hk_is_transport(const struct hk_report_call *call)
{
	static const char *const functions[] = {"writev", "readv", "send", "recv", "epoll_wait"};
	bool library =
	    strstr(call->library, "libtorch_cpu.so") || strstr(call->library, "libgloo.so");

	for (size_t i = 0; library && i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strcmp(call->function, functions[i]) == 0) {
			return true;
		}
	}
	return false;
}

double hk_joint_calls(const struct hk_report *report, int32_t rank)
{
	double calls = 0;

	for (size_t i = hk_report_first_call(report, rank);
	     i < report->call_count && report->calls[i].rank == rank; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (hk_wait_is_domain(call->domain) && strcmp(call->role, "main") == 0) {
			calls += (double)call->numbers.calls;
		}
	}
	return calls;
}

const char *hk_joint_name(const struct hk_report *report)
{
	bool torch = false, mpi = false;

	for (size_t i = 0; !mpi && i < report->call_count; i++) {
		mpi = strcmp(report->calls[i].domain, "mpi") == 0;
		torch |= strcmp(report->calls[i].domain, "c10d") == 0;
	}
	return torch && !mpi ? "torch.distributed" : "MPI";
}
