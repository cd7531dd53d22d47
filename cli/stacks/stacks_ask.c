#include "cli/stacks/stacks_ask.h"

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_client.h"

/* Beyond what the collector waits for all nodes (collector/link/gather.c), and one in line. */
#define TIMEOUT_MS 30000

int hk_stacks_ask(const struct hk_job *job, const struct hk_span_ranks *ranks, size_t count,
		  bool ptrace, Hk__Response **ret_response)
{
	static Hk__RankRange ranges[HK_SPAN_RANKS_MAX], *list[HK_SPAN_RANKS_MAX];
	Hk__Request request = HK__REQUEST__INIT;
	Hk__StacksRequest stacks = HK__STACKS_REQUEST__INIT;

	stacks.job = job->snapshot->job->id;
	stacks.ptrace = ptrace;
	stacks.ranks = list;
	stacks.n_ranks = count;
	for (size_t i = 0; i < count; i++) {
		hk__rank_range__init(&ranges[i]);
		ranges[i].first = (uint32_t)ranks[i].first;
		ranges[i].last = (uint32_t)ranks[i].last;
		list[i] = &ranges[i];
	}
	request.what_case = HK__REQUEST__WHAT_STACKS;
	request.stacks = &stacks;
	int r = hk_client_call(job->url, &request, TIMEOUT_MS, ret_response);
	if (r < 0) {
		return hk_client_failed(job->url, r);
	}
	const Hk__Response *response = *ret_response;
	if (response->error != 0 || !response->stacks) {
		hk_error("%s", response->error != 0 ? response->text
						    : "the collector's answer has no stacks");
		hk__response__free_unpacked(*ret_response, NULL);
		return HK_EXIT_FAILED;
	}
	return HK_EXIT_DONE;
}
