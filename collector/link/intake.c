#include "collector/link/intake.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#include "base/clock.h"
#include "collector/job/job_nodes.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_match.h"
#include "collector/lifecycle/job_open.h"
#include "collector/lifecycle/job_quota.h"
#include "collector/lifecycle/job_save.h"
#include "collector/lifecycle/process_list.h"
#include "collector/link/chunk_intake.h"
#include "collector/link/gather.h"
#include "collector/link/match.h"
#include "collector/link/peers.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/process/ancestry.h"
#include "collector/trigger/trigger.h"
#include "wire/change.h"
#include "wire/columns.h"
#include "wire/message.h"

#define KEY_MAX 1024u		/* bytes of a job's key */
#define NODE_BYTES (256u << 10) /* bytes of memory for a node's description */

/* The answer about one job. */
struct hk_intake_part {
	Hk__LeafJobReply message;
	struct hk_job *job;
};

/* ---- which job ---- */

/* Returns whether CLIENT may have one more open job. REPLY counts the jobs of its report. */
static int may_open(const struct hk_collector *collector, const struct hk_intake_client *client,
		    struct hk_intake_reply *reply)
{
	if (!client->account) {
		return 0;
	}
	return reply->opened++ >= HK_QUOTA_JOBS_PER_REPORT
		   ? -EAGAIN
		   : hk_job_quota_open(client->quota, client->account, collector->jobs,
				       hk_clock_monotonic_ns());
}

static int open_job(struct hk_collector *collector, const struct hk_intake_client *client,
		    const Hk__Node *node, const Hk__LeafJob *from, struct hk_intake_reply *reply,
		    struct hk_job **ret_job)
{
	const char *user = client->user;
	const Hk__Job *part = from->job;
	const struct hk_job_request request = {
	    .key = part->key, .name = part->name, .command = part->command, .user = user};
	struct hk_job *job = hk_match_job(collector, user, node, from);
	if (job && !job->state->closed) {
		*ret_job = job;
		return 0;
	}
	int r = may_open(collector, client, reply);
	if (r < 0) {
		return r;
	}
	*ret_job = job;
	r = job ? hk_job_resume(collector, &request, ret_job)
		: hk_job_open(collector, &request, ret_job);
	return r;
}

static void take_job_facts(struct hk_job *job, const Hk__Job *part)
{
	Hk__Job *state = job->state;
	if (!*state->command && *part->command) {
		hk_field_set_string(&state->command, part->command);
		job->changed = true;
	}
	if (*part->name && strcmp(state->name, state->key) == 0 &&
	    strcmp(state->name, part->name) != 0) {
		hk_field_set_string(&state->name, part->name);
		job->changed = true;
	}
	if (*part->store_error && strcmp(state->store_error, part->store_error) != 0) {
		hk_field_set_string(&state->store_error, part->store_error);
		job->changed = true;
	}
	hk_triggers_adopt(job, part->triggers ? part->triggers->plan : NULL);
	/* The job's exit status is that of a node whose command failed, if there is one. */
	if (part->have_exit && (!state->have_exit || state->exit_status == 0) &&
	    (!state->have_exit || part->exit_status != 0)) {
		state->have_exit = true;
		state->exit_status = part->exit_status;
		job->changed = true;
	}
}

/* ---- processes ---- */

/* A change without `seen` leaves `seen` as it was. */
static bool later(const Hk__Process *old, const Hk__Process *new)
{
	uint64_t before = old->seen ? old->seen->monotonic_ns : 0;
	return !new->seen || new->seen->monotonic_ns >= before;
}

/* Sets the role that only all nodes together show: once the job has ranks, a main process without a
 * rank has started them. */
static void settle_role(struct hk_job *job, struct hk_process *process)
{
	Hk__Process *state = process->state;
	struct hk_process *other;
	if (state->role != HK__ROLE__ROLE_MAIN) {
		return;
	}
	if (state->rank_known && !job->ranked) {
		job->ranked = true;
		DL_FOREACH (job->processes, other) {
			settle_role(job, other);
		}
	} else if (!state->rank_known && job->ranked) {
		state->role = HK__ROLE__ROLE_LAUNCHER;
		state->rank = -1;
		process->changed = true;
	}
}

static int set_node(Hk__Process *state, const Hk__Node *node)
{
	if (state->node.len != HK_NODE_ID_BYTES) {
		uint8_t *data = malloc(HK_NODE_ID_BYTES);
		if (!data) {
			return -ENOMEM;
		}
		free(state->node.data);
		state->node = (ProtobufCBinaryData){HK_NODE_ID_BYTES, data};
	}
	memcpy(state->node.data, node->id.data, HK_NODE_ID_BYTES);
	return 0;
}

/* Keeps the counts of records that follow from the root's own files. Records that the leaf evicted
 * may have arrived before, and its tombstone comes later. */
static void keep_own(Hk__Process *state, uint64_t evicted)
{
	state->records_shed = evicted;
	state->records_elsewhere = 0;
}

static int merge(struct hk_collector *collector, struct hk_process *process, Hk__Process *change)
{
	Hk__Process *state = process->state;
	uint64_t evicted = state->records_shed;
	bool sites = change->n_sites > 0;
	hk_ancestry_remove(collector, process);
	int r = hk_change_apply(state, change);
	hk_ancestry_add(collector, process);
	if (sites) {
		process->remote->sites_digest = 0;
	}
	process->exited = state->end != NULL;
	keep_own(state, evicted);
	return r;
}

/* Stores *STATE, the whole state of a process or a change of it, unless the stored one is newer.
 * For a new process it takes *STATE over and sets it to NULL. Returns -ESTALE if a change is not
 * enough. */
static int take_process(struct hk_collector *collector, const struct hk_intake_client *client,
			struct hk_job *job, const Hk__Node *node, Hk__Process **state,
			struct hk_process **ret_process)
{
	if ((*state)->uid.len != HK_UID_BYTES) {
		return -EINVAL;
	}
	struct hk_process *process = hk_ancestry_by_uid(collector, (*state)->uid.data);
	if (process && (!process->remote || process->job != job)) {
		return -EINVAL;
	}
	int r = set_node(*state, node);
	r = r < 0 ? r : hk_field_set_string(&(*state)->job, job->state->id);
	if (r < 0) {
		return r;
	}
	if (process && !later(process->state, *state)) {
		*ret_process = process;
		return 0;
	}
	r = client->account ? hk_job_quota_book(client->quota, job->account, process, *state) : 0;
	if (r < 0) {
		return r;
	}
	if (process) {
		r = merge(collector, process, *state);
	} else if (!(*state)->start || !hk_columns_valid((*state)->cells)) {
		r = (*state)->start ? -EBADMSG : -ESTALE;
	} else {
		keep_own(*state, 0);
		uint64_t bytes = hk_message_memory(&(*state)->base) + sizeof(*process);
		r = hk_process_restore(collector, job, *state);
		process = r < 0 ? NULL : hk_ancestry_by_uid(collector, (*state)->uid.data);
		*state = r < 0 ? *state : NULL;
		if (process) {
			process->remote->counted_bytes = process->remote->values_bytes = bytes;
			/* The process's file may be older than its state. */
			hk_job_add_evicted(job, node->id.data, process->remote->evicted_at_source);
		}
	}
	if (r < 0) {
		return r;
	}
	process->changed = true;
	settle_role(job, process);
	*ret_process = process;
	return 0;
}

/* ---- reports ---- */

static void reply_job(const struct hk_collector *collector, struct hk_intake_reply *reply,
		      struct hk_job *job, const Hk__Node *node, const Hk__Job *part)
{
	struct hk_intake_part *to = &reply->parts[reply->message.n_jobs];
	const Hk__Job *state = job->state;
	Hk__LeafJobReply *message = &to->message;
	to->job = job;
	hk__leaf_job_reply__init(message);
	message->key = state->key;
	message->id = state->id;
	message->opened_unix_ns = part->opened_unix_ns;
	message->rules = state->rules;
	message->n_rules = state->n_rules;
	message->off = state->off;
	message->off_until_unix_ns = state->off_until_unix_ns;
	message->control_changes = state->control_changes;
	message->ended = state->have_exit;
	hk_gather_want(collector, job, node, message);
	reply->jobs[reply->message.n_jobs++] = message;
}

static void refuse_job(struct hk_intake_reply *reply, const Hk__Job *part, int error)
{
	Hk__LeafJobReply *message = &reply->parts[reply->message.n_jobs].message;
	if (!part) {
		return;
	}
	hk__leaf_job_reply__init(message);
	message->key = part->key;
	message->opened_unix_ns = part->opened_unix_ns;
	message->error = error;
	reply->jobs[reply->message.n_jobs++] = message;
}

static int reply_chunk(struct hk_intake_reply *reply, struct hk_process *process)
{
	Hk__ChunkReply *message = &reply->chunks[reply->message.n_chunks];
	hk__chunk_reply__init(message);
	message->process = (ProtobufCBinaryData){HK_UID_BYTES, process->uid};
	int r = hk_chunk_intake_last(process, &message->last);
	if (r == 0) {
		reply->chunk_list[reply->message.n_chunks++] = message;
	}
	return r;
}

/* Accounts for the processes of NODE, which has sent all its data of JOB. */
static void account_node(struct hk_job *job, const Hk__Node *node)
{
	struct hk_process *process;
	DL_FOREACH (job->processes, process) {
		if (process->remote &&
		    memcmp(process->state->node.data, node->id.data, HK_NODE_ID_BYTES) == 0) {
			hk_process_account(process);
		}
	}
}

/* Matches the calls that PART of NODE brings. Messages about processes that are not NODE's, or that
 * are invalid, are ignored. */
static void take_arrivals(const struct hk_collector *collector, struct hk_job *job,
			  const Hk__Node *node, const Hk__LeafJob *part)
{
	for (size_t i = 0; i < part->n_arrivals; i++) {
		const Hk__Arrivals *message = part->arrivals[i];
		const struct hk_process *process =
		    message->process.len == HK_UID_BYTES
			? hk_ancestry_by_uid(collector, message->process.data)
			: NULL;
		if (process && process->remote && process->job == job &&
		    hk_message_same_bytes(&process->state->node, &node->id)) {
			hk_job_match(job, process, message);
		}
	}
}

static int take_job(struct hk_collector *collector, const struct hk_intake_client *client,
		    const Hk__LeafReport *report, Hk__LeafJob *part, struct hk_intake_reply *reply)
{
	struct hk_job *job;
	struct hk_process *process;
	Hk__Node *node;
	if (!part->job || !*part->job->key || strlen(part->job->key) > KEY_MAX) {
		return -EINVAL;
	}
	hk_quota_cut(part->job->name, HK_QUOTA_NAME_BYTES);
	hk_quota_cut(part->job->store_error, HK_QUOTA_NAME_BYTES);
	hk_quota_cut(part->job->command, HK_QUOTA_COMMAND_BYTES);
	int r = open_job(collector, client, report->node, part, reply, &job);
	bool joins = r == 0 && !hk_job_node(job, report->node->id.data);
	if (r == 0 && client->account && !job->account) {
		job->account = hk_quota_payer(client->quota, client->account);
	}
	if (joins && client->account) {
		r = hk_quota_values(client->quota, client->account,
				    hk_message_memory(&report->node->base));
	}
	r = r < 0 ? r : hk_job_node_join(job, report->node, part->job->opened_unix_ns, &node);
	if (r < 0) {
		return r;
	}
	if (joins) {
		/* Saved at once, because a collector that takes over after a crash must know which
		 * nodes to wait for. */
		hk_job_save(collector, job);
	}
	job->alive_ns = hk_clock_monotonic_ns();
	take_job_facts(job, part->job);
	for (size_t i = 0; i < part->n_processes; i++) {
		r = take_process(collector, client, job, report->node, &part->processes[i],
				 &process);
		r = r < 0 || !report->resume ? r : reply_chunk(reply, process);
		if (r < 0) {
			return r;
		}
	}
	node->report_epoch = client->sequence > 0 ? report->epoch : 0;
	node->report_number = client->sequence > 0 ? report->number : 0;
	/* Their sums are saved with this number: what is in them already is not added again. */
	if (client->sequence == 0 || client->sequence > node->arrivals_sequence) {
		take_arrivals(collector, job, report->node, part);
		node->arrivals_sequence = client->sequence;
	}
	if (node->complete != part->complete) {
		node->complete = part->complete;
		job->changed = true;
		if (node->complete) {
			account_node(job, report->node);
		}
		collector->some_complete |= hk_peers_missing(collector, job) == 0;
	}
	reply_job(collector, reply, job, report->node, part->job);
	if (part->complete) {
		/* The leaf drops data that this answer calls saved, so the job is saved first. */
		reply->parts[reply->message.n_jobs - 1].message.saved =
		    hk_job_save(collector, job) == 0;
	}
	return 0;
}

/* Removes the NULL pointers from REPORT's lists, because protobuf-c frees the rest. */
static void close_holes(Hk__LeafReport *report)
{
	for (size_t i = 0; i < report->n_jobs; i++) {
		Hk__LeafJob *job = report->jobs[i];
		size_t kept = 0;
		for (size_t j = 0; j < job->n_processes; j++) {
			if (job->processes[j]) {
				job->processes[kept++] = job->processes[j];
			}
		}
		job->n_processes = kept;
	}
}

static int reply_init(struct hk_intake_reply *reply, const Hk__LeafReport *report, uint64_t epoch)
{
	struct timespec now;
	size_t processes = 0;
	for (size_t i = 0; i < report->n_jobs; i++) {
		processes += report->jobs[i]->n_processes;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	hk__leaf_reply__init(&reply->message);
	reply->parts = calloc(report->n_jobs + 1, sizeof(*reply->parts));
	reply->jobs = calloc(report->n_jobs + 1, sizeof(Hk__LeafJobReply *));
	reply->chunks = calloc(processes + 1, sizeof(*reply->chunks));
	reply->chunk_list = calloc(processes + 1, sizeof(Hk__ChunkReply *));
	if (!reply->parts || !reply->jobs || !reply->chunks || !reply->chunk_list) {
		return -ENOMEM;
	}
	reply->message.jobs = reply->jobs;
	reply->message.chunks = reply->chunk_list;
	reply->message.epoch = epoch;
	reply->message.now_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return 0;
}

/* Finds the last report of a leaf that this collector has not heard yet, in the jobs that another
 * one has saved. */
static void recall_report(const struct hk_collector *collector, const Hk__LeafReport *report,
			  struct hk_peer *peer)
{
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		const Hk__Node *node = hk_job_node(job, report->node->id.data);
		if (node && node->report_epoch == report->epoch &&
		    node->report_number > peer->number) {
			peer->epoch = node->report_epoch;
			peer->number = node->report_number;
		}
	}
}

/* Whether a report that is read in order comes without the one before it. */
static bool is_missing_one(const struct hk_collector *collector,
			   const struct hk_intake_client *client, const Hk__LeafReport *report,
			   struct hk_peer *peer)
{
	if (client->sequence == 0 || client->gap) {
		return false;
	}
	if (peer->sequence == 0) {
		recall_report(collector, report, peer);
	}
	return peer->number > 0 && report->epoch == peer->epoch &&
	       report->number > peer->number + 1;
}

int hk_intake_report(struct hk_collector *collector, const struct hk_intake_client *client,
		     Hk__LeafReport *report, struct hk_intake_reply *reply)
{
	struct hk_peer *peer;
	if (!report->node || hk_message_memory(&report->node->base) > NODE_BYTES) {
		return -EINVAL;
	}
	int r = hk_peers_take(collector, report->node, client->account, &peer);
	r = r < 0 ? r : reply_init(reply, report, collector->start_unix_ns);
	if (r < 0) {
		return r;
	}
	bool late =
	    client->sequence == 0 && report->epoch == peer->epoch && report->number <= peer->number;
	hk_peers_record_report(peer, report, client->user, reply->message.now_unix_ns);
	if (is_missing_one(collector, client, report, peer)) {
		reply->last = peer->sequence;
		return 1;
	}
	if (late) {
		return 0; /* or it has come for the second time */
	}
	for (size_t i = 0; i < report->n_jobs; i++) {
		r = take_job(collector, client, report, report->jobs[i], reply);
		if (r < 0) {
			refuse_job(reply, report->jobs[i]->job, r);
		}
	}
	close_holes(report);
	peer->epoch = report->epoch;
	peer->number = report->number;
	peer->sequence = client->sequence;
	return 0;
}

void hk_intake_reply_fini(struct hk_intake_reply *reply)
{
	free(reply->parts);
	free(reply->jobs);
	free(reply->chunks);
	free(reply->chunk_list);
	*reply = (struct hk_intake_reply){.parts = NULL};
}
