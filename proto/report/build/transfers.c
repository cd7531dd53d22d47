#include "report/build/transfers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/numbers.h"

#define DOMAIN "nccl.transfer"
#define SIZE_MOST 63u

/* Returns the bus bandwidth of FUNCTION over RANKS ranks for each byte of algorithm bandwidth, or 0
 * if that is unknown. */
static double bus_factor(const char *function, uint32_t ranks)
{
	static const char *const parts[] = {"AllGather", "AllGatherV", "ReduceScatter",
					    "AlltoAll",	 "Gather",     "Scatter"};
	static const char *const wholes[] = {"Broadcast", "Reduce", "Send", "Recv", "SendRecv"};

	if (ranks == 0) {
		return 0;
	}
	double share = (double)(ranks - 1) / ranks;
	if (strcmp(function, "AllReduce") == 0) {
		return 2 * share;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(function, parts[i]) == 0) {
			return share;
		}
	}
	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		if (strcmp(function, wholes[i]) == 0) {
			return 1;
		}
	}
	return 0;
}

/* Reads "AllReduce 2^20" and "comm 00000000deadbeef of 8 ranks". Returns false for another text, or
 * -ENOMEM in *ret_error. */
static bool read_texts(struct hk_report *report, const struct hk_report_call *call,
		       struct hk_report_transfer *to, int *ret_error)
{
	char function[32];
	unsigned size = 0;
	int end = 0;

	if (sscanf(call->function, "%31[A-Za-z] 2^%2u%n", function, &size, &end) != 2 ||
	    call->function[end] || size > SIZE_MOST ||
	    sscanf(call->library, "comm %16" SCNx64 " of %9" SCNu32 " ranks", &to->comm,
		   &to->ranks) != 2) {
		return false;
	}
	to->size_log2 = size;
	to->function = hk_report_strings_get(&report->strings, function);
	*ret_error = to->function ? 0 : -ENOMEM;
	return true;
}

static void numbers_fill(struct hk_report_transfer *to, const struct hk_report_call *call)
{
	const struct hk_report_numbers *n = &call->numbers;

	to->rank = call->rank;
	to->role = call->role;
	to->operations = n->calls;
	if (n->have_total && n->total_ns > 0) {
		to->bytes = n->bytes;
		to->total_ns = n->total_ns;
		to->min_ns = n->min_ns;
		to->max_ns = n->max_ns;
		to->algorithm_gbps = (double)n->bytes / (double)n->total_ns;
		to->bus_gbps = to->algorithm_gbps * bus_factor(to->function, to->ranks);
	}
}

static size_t count_of(const struct hk_report *report)
{
	size_t count = 0;

	for (size_t i = 0; i < report->call_count; i++) {
		count += strcmp(report->calls[i].domain, DOMAIN) == 0;
	}
	return count;
}

int hk_report_transfers_fill(struct hk_report *report)
{
	size_t kept = 0;
	int r = 0;

	report->transfers = calloc(count_of(report) + 1, sizeof(*report->transfers));
	if (!report->transfers) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < report->call_count; i++) {
		struct hk_report_call call = report->calls[i];
		struct hk_report_transfer *to = &report->transfers[report->transfer_count];
		if (r == 0 && strcmp(call.domain, DOMAIN) == 0 &&
		    read_texts(report, &call, to, &r)) {
			if (r == 0) {
				numbers_fill(to, &call);
				report->transfer_count++;
			}
			hk_report_numbers_fini(&call.numbers);
		} else {
			report->calls[kept++] = call;
		}
	}
	report->call_count = kept;
	return r;
}
