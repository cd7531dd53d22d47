#include "collector/clock/sample.h"

/* Differences of differences of such times stay within 63 bits. */
#define TIME_MAX (UINT64_C(1) << 61)

bool hk_clock_sample_make(const struct hk_clock_trip *trip, struct hk_clock_sample *ret_sample)
{
	if (trip->returned_ns > TIME_MAX || trip->answered_ns > TIME_MAX ||
	    trip->returned_ns < trip->sent_ns || trip->answered_ns < trip->received_ns) {
		return false;
	}
	uint64_t whole = trip->returned_ns - trip->sent_ns;
	uint64_t inside = trip->answered_ns - trip->received_ns;
	if (inside > whole) {
		return false;
	}
	ret_sample->at_ns = trip->sent_ns + whole / 2;
	ret_sample->offset_ns =
	    (int64_t)(trip->received_ns + inside / 2) - (int64_t)ret_sample->at_ns;
	ret_sample->travel_ns = whole - inside;
	return true;
}
