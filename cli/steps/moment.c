#include "cli/steps/moment.h"

#include <inttypes.h>
#include <stdio.h>

#include "text/ranks.h"

#define RANKS_SHOWN 64u

const char *hk_moment_print(char text[HK_MOMENT_BYTES], const struct hk_steps *steps, size_t rank,
			    size_t index)
{
	uint64_t begin_ns = steps->ranks[rank].series.bins[index].begin_ns;
	uint64_t tenths =
	    begin_ns > steps->origin_ns ? (begin_ns - steps->origin_ns) / 100000000u : 0;
	unsigned hours = (unsigned)(tenths / 36000), rest = (unsigned)(tenths % 36000);

	snprintf(text, HK_MOMENT_BYTES, "%02u:%02u:%02u.%u", hours, rest / 600, rest / 10 % 60,
		 rest % 10);
	return text;
}

const char *hk_moment_subject(char text[HK_SUBJECT_BYTES], const struct hk_steps *steps,
			      const struct hk_shift *shift)
{
	int32_t ranks[RANKS_SHOWN];
	char list[HK_SUBJECT_BYTES - 8];
	size_t count = shift->rank_count < RANKS_SHOWN ? shift->rank_count : RANKS_SHOWN;

	for (size_t i = 0; i < count; i++) {
		ranks[i] = steps->ranks[shift->ranks[i]].rank;
	}
	if (shift->rank_count == 1) {
		snprintf(text, HK_SUBJECT_BYTES, "rank %" PRId32, ranks[0]);
	} else if (shift->rank_count == steps->rank_count) {
		snprintf(text, HK_SUBJECT_BYTES, "all ranks");
	} else {
		snprintf(text, HK_SUBJECT_BYTES, "ranks %s%s",
			 hk_ranks_print(list, sizeof(list), ranks, count),
			 count < shift->rank_count ? ",..." : "");
	}
	return text;
}
