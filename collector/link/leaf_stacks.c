#include "collector/link/leaf_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/stack/survey.h"
#include "collector/uplink/uplink.h"

#define PATIENCE_NS 17000000000u

void hk_leaf_stacks_want(struct hk_leaf_stacks *stacks, struct hk_collector *collector,
			 const struct hk_job *job, const Hk__LeafJobReply *reply)
{
	uint64_t now = hk_clock_monotonic_ns();

	if (!reply->stacks || reply->stacks_number == stacks->number || stacks->key ||
	    collector->surveying) {
		return;
	}
	stacks->key = strdup(job->state->key);
	stacks->survey = stacks->key ? hk_survey_begin(collector, job, reply->stacks, now) : NULL;
	stacks->number = reply->stacks_number;
	stacks->until_ns = now + PATIENCE_NS;
	if (!stacks->survey) {
		hk_leaf_stacks_fini(stacks, collector);
	}
}

static int send(const struct hk_leaf_stacks *stacks, struct hk_uplink *uplink, uint8_t *node)
{
	Hk__Request request = HK__REQUEST__INIT;
	Hk__StacksPut put = HK__STACKS_PUT__INIT;

	put.job = stacks->key;
	put.number = stacks->number;
	put.node = (ProtobufCBinaryData){HK_NODE_ID_BYTES, node};
	put.processes = stacks->processes;
	put.n_processes = stacks->count;
	request.version = (char *)HK_VERSION;
	request.what_case = HK__REQUEST__WHAT_STACKS_PUT;
	request.stacks_put = &put;
	return hk_uplink_send(uplink, &request);
}

int hk_leaf_stacks_run(struct hk_leaf_stacks *stacks, struct hk_collector *collector,
		       struct hk_uplink *uplink, uint8_t *node)
{
	uint64_t now = hk_clock_monotonic_ns();
	int slot = -EAGAIN;

	if (stacks->survey && hk_survey_advance(stacks->survey, collector, now)) {
		stacks->processes = hk_survey_take(stacks->survey, &stacks->count);
		stacks->survey = hk_survey_free(stacks->survey, collector);
	}
	if (stacks->processes) {
		slot = send(stacks, uplink, node);
	}
	bool sent = slot >= 0 || (slot < 0 && slot != -EAGAIN);
	if (stacks->key && (sent || now >= stacks->until_ns)) {
		hk_leaf_stacks_fini(stacks, collector);
	}
	return slot;
}

bool hk_leaf_stacks_is_busy(const struct hk_leaf_stacks *stacks)
{
	return stacks->survey != NULL;
}

void hk_leaf_stacks_fini(struct hk_leaf_stacks *stacks, struct hk_collector *collector)
{
	stacks->survey = hk_survey_free(stacks->survey, collector);
	for (size_t i = 0; i < stacks->count; i++) {
		hk__process__free_unpacked(stacks->processes[i], NULL);
	}
	free(stacks->processes);
	free(stacks->key);
	stacks->processes = NULL;
	stacks->key = NULL;
	stacks->count = 0;
}
