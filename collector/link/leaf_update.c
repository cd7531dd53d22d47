#include "collector/link/leaf_update.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <utlist.h>

#include "collector/model/job.h"

#define REPORT_BYTES (1u << 20)

/* A job of a report. */
struct hk_leaf_report_part {
	Hk__LeafJob message;
	Hk__Job job; /* copy of the job's state, without fields that the root knows better */
	struct hk_outbox_job *from;
	struct hk_outbox_process **processes; /* processes in the part */
	Hk__Process **states;
};

static size_t count_processes(const struct hk_outbox_job *job)
{
	const struct hk_outbox_process *process;
	size_t count = 0;
	DL_FOREACH (job->processes, process) {
		count++;
	}
	return count;
}

/* Adds changes of the job's processes to PART, as long as there is room. */
static int add_processes(const struct hk_collector *collector, struct hk_leaf_report *report,
			 struct hk_leaf_report_part *part, size_t *bytes)
{
	struct hk_outbox_process *process;
	size_t room = count_processes(part->from);
	part->processes = calloc(room + 1, sizeof(struct hk_outbox_process *));
	part->states = calloc(room + 1, sizeof(Hk__Process *));
	if (!part->processes || !part->states) {
		return -ENOMEM;
	}
	DL_FOREACH (part->from->processes, process) {
		Hk__Process *state = hk_outbox_values(collector, process);
		if (!process->unsent || !state) {
			continue;
		}
		int r = hk_outbox_make_delta(process, state);
		if (r < 0) {
			return r;
		}
		if (r == 0) {
			continue;
		}
		size_t size = hk__process__get_packed_size(process->pending_delta);
		if (*bytes > 0 && *bytes + size > REPORT_BYTES) {
			process->unsent = true;
			report->more = true;
			break;
		}
		*bytes += size;
		report->message.resume |= !process->known;
		part->processes[part->message.n_processes] = process;
		part->states[part->message.n_processes++] = process->pending_delta;
	}
	part->message.processes = part->states;
	return 0;
}

static int add_job(const struct hk_collector *collector, const struct hk_leaf_report_head *head,
		   struct hk_leaf_report *report, struct hk_outbox_job *job, size_t *bytes)
{
	struct hk_leaf_report_part *part = &report->parts[report->message.n_jobs];
	hk__leaf_job__init(&part->message);
	part->from = job;
	part->job = *hk_outbox_state(job);
	part->job.n_rules = part->job.n_nodes = part->job.n_agreements = 0;
	part->job.waits = NULL;
	part->message.job = &part->job;
	part->message.id = part->job.upstream_id;
	part->message.complete = hk_outbox_all_sent(job) && !head->clock_awaited;
	if (job->job) {
		hk_leaf_arrivals_take(&job->arrivals, job->job);
	}
	part->message.arrivals = job->arrivals.list;
	part->message.n_arrivals = job->arrivals.count;
	report->list[report->message.n_jobs++] = &part->message;
	return add_processes(collector, report, part, bytes);
}

/* Returns whether JOB is in memory. Of closed jobs, one at a time is loaded. */
static bool ready(struct hk_outbox_job *job, bool *loaded)
{
	if (job->job) {
		return true;
	}
	if (job->complete || (*loaded && !job->loaded)) {
		return false;
	}
	/* The readable part of a damaged job is sent. */
	int r = hk_outbox_load(job);
	*loaded |= job->loaded != NULL;
	job->complete |= r == -ENOENT; /* `hookcli rm` removed the job */
	return job->loaded != NULL;
}

int hk_leaf_report_make(const struct hk_collector *collector, struct hk_leaf_report_head *head,
			struct hk_outbox *outbox, struct hk_leaf_report *ret_report)
{
	struct hk_outbox_job *job;
	size_t count = 0, bytes = 0;
	bool loaded = false;
	int r = 0;
	DL_FOREACH (outbox->jobs, job) {
		count++;
	}
	*ret_report = (struct hk_leaf_report){
	    .parts = calloc(count + 1, sizeof(struct hk_leaf_report_part)),
	    .list = calloc(count + 1, sizeof(Hk__LeafJob *)),
	};
	hk__leaf_report__init(&ret_report->message);
	hk__node__init(&ret_report->node);
	if (!ret_report->parts || !ret_report->list) {
		r = -ENOMEM;
	}
	DL_FOREACH (outbox->jobs, job) {
		if (r == 0 && ready(job, &loaded)) {
			r = add_job(collector, head, ret_report, job, &bytes);
		}
	}
	if (r < 0) {
		hk_leaf_report_fini(ret_report, false);
		return r;
	}
	ret_report->node.id = (ProtobufCBinaryData){HK_NODE_ID_BYTES, head->id};
	ret_report->node.boot = (ProtobufCBinaryData){HK_NODE_ID_BYTES, head->boot};
	ret_report->node.host = (char *)head->host;
	ret_report->node.version = (char *)HK_VERSION;
	ret_report->node.shed_records = head->shed_records;
	ret_report->node.spooled_bytes = head->spooled_bytes;
	ret_report->node.clock = count > 0 ? head->clock : NULL;
	ret_report->message.node = &ret_report->node;
	ret_report->message.jobs = ret_report->list;
	ret_report->message.epoch = head->epoch;
	ret_report->message.number = ++head->number;
	return 0;
}

void hk_leaf_report_fini(struct hk_leaf_report *report, bool sent)
{
	for (size_t i = 0; report->parts && i < report->message.n_jobs; i++) {
		struct hk_leaf_report_part *part = &report->parts[i];
		for (size_t j = 0; j < part->message.n_processes; j++) {
			part->processes[j]->sending |= sent;
			part->processes[j]->unsent |= !sent;
		}
		if (sent) {
			hk_leaf_arrivals_fini(&part->from->arrivals);
			part->from->announced = true;
			part->from->complete_sending = part->message.complete;
		}
		free(part->processes);
		free(part->states);
	}
	free(report->parts);
	free(report->list);
	report->parts = NULL;
	report->list = NULL;
}

void hk_leaf_report_clock(struct hk_leaf_report_head *head, const Hk__LeafReply *reply)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	head->root_ahead_ns = (int64_t)(reply->now_unix_ns - ((uint64_t)now.tv_sec * 1000000000u +
							      (uint64_t)now.tv_nsec));
}
