#include "cli/steps/excess.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/steps/changes.h"
#include "report/findings/progress/standing.h"
#include "report/model/lookup.h"
#include "report/wait/pattern.h"

#define LEAST_SHARE 0.5 /* of the change, by which a function may exceed the others' time */
#define MOST_SHARE 2.0
#define CLEAR 0.25 /* of the others' time */

/* Returns the time that the main process of RANK spends in FUNCTION, a name of the report. */
static double time_in(const struct hk_report *report, int32_t rank, const char *function)
{
	double sum = 0;

	for (size_t i = hk_report_first_call(report, rank);
	     i < report->call_count && report->calls[i].rank == rank; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (call->function == function && strcmp(call->role, "main") == 0) {
			sum += (double)call->numbers.self_ns;
		}
	}
	return sum;
}

/* Returns the median of FUNCTION's times in the other ranks. OTHERS has room for them. */
static double usual_in(const struct hk_report *report, int32_t rank, const char *function,
		       double *others)
{
	size_t count = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		if (report->ranks[i].rank != rank) {
			others[count++] = time_in(report, report->ranks[i].rank, function);
		}
	}
	return count > 0 ? hk_changes_median(others, count) : 0;
}

int hk_excess_find(const struct hk_report *report, int32_t rank, double change_ns,
		   struct hk_excess *ret_excess)
{
	double *others = calloc(report->rank_count + 1, sizeof(*others));
	double most_ns = LEAST_SHARE * change_ns;

	*ret_excess = (struct hk_excess){0};
	if (!others) {
		return -ENOMEM;
	}
	for (size_t i = hk_report_first_call(report, rank);
	     i < report->call_count && report->calls[i].rank == rank; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (hk_wait_is_domain(call->domain) || strcmp(call->role, "main") != 0 ||
		    !call->numbers.have_total || hk_is_transport(call)) {
			continue;
		}
		double own_ns = time_in(report, rank, call->function);
		if (own_ns < most_ns) {
			continue;
		}
		double usual_ns = usual_in(report, rank, call->function, others);
		if (own_ns - usual_ns >= most_ns && own_ns - usual_ns <= MOST_SHARE * change_ns &&
		    own_ns >= (1 + CLEAR) * usual_ns) {
			most_ns = own_ns - usual_ns;
			*ret_excess = (struct hk_excess){call->function, own_ns, usual_ns};
		}
	}
	free(others);
	return 0;
}
