/* standing.h: where a rank is: its open calls, among them those that other ranks must join or
 * answer, such as calls of MPI and NCCL; and whether it makes calls. Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_PROGRESS_STANDING_H
#define HK_REPORT_FINDINGS_PROGRESS_STANDING_H

#include <stdbool.h>

#include "report/model/report.h"

#define HK_HANG_NS 10000000000ull /* ranks that wait for longer hang */

/* The open calls of the first thread of a rank's main process. */
struct hk_standing {
	const struct hk_report_open_call *joint; /* outermost one that waits for ranks, or NULL */
	const struct hk_report_open_call *last;	 /* innermost one, or NULL */
};

struct hk_standing hk_standing_of(const struct hk_report *report,
				  const struct hk_report_rank *rank);

/* Returns hooked calls per second of RANK in its last OVER_NS, over all threads; NAN if unknown. */
double hk_calls_lately(const struct hk_report *report, const struct hk_report_rank *rank,
		       double over_ns);

/* Returns whether CALL moves messages of gloo: its own threads make such calls, so their time is no
 * work of the program's. */
bool hk_is_transport(const struct hk_report_call *call);

/* Returns how many calls in which ranks wait for each other RANK's main processes have made. */
double hk_joint_calls(const struct hk_report *report, int32_t rank);

/* Returns how sentences name the calls in which ranks wait for each other: "MPI", or
 * "torch.distributed" if the ranks make such calls and none of MPI; static. */
const char *hk_joint_name(const struct hk_report *report);

#endif
