#include "collector/link/leaf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rundir.h"
#include "collector/clock/prober.h"
#include "collector/job/jobdir.h"
#include "collector/level/rules.h"
#include "collector/lifecycle/job_list.h"
#include "collector/link/leaf_stacks.h"
#include "collector/link/leaf_update.h"
#include "collector/link/node.h"
#include "collector/link/outbox.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/stack/survey.h"
#include "collector/uplink/uplink_open.h"

#define SECOND_NS UINT64_C(1000000000)
#define REPORT_SOON_NS (SECOND_NS / 50)
#define HOLD_NS SECOND_NS /* pause before a chunk is sent again that the root had no room for */
#define LATE_NS (60 * SECOND_NS) /* processes that start later begin a new job */
/* How long a job that is complete waits for the first reading of the root's clock. Without it the
 * root takes times by this node's realtime clock, and a job may begin before its start. */
#define CLOCK_WAIT_NS (5 * SECOND_NS)
#define PATIENCE_NS (30 * SECOND_NS) /* wait of a collector without other work */

enum exchange_kind {
	EXCHANGE_NONE = 0,
	EXCHANGE_REPORT = 1,
	EXCHANGE_CHUNK = 2,
	EXCHANGE_STACKS = 3,
	EXCHANGE_KINDS,
};

struct exchange {
	enum exchange_kind kind;
	uint8_t uid[HK_UID_BYTES]; /* process of a chunk */
};

struct hk_leaf {
	const char *url;
	struct hk_uplink *uplink;
	struct hk_outbox outbox;
	struct hk_leaf_report_head head;
	bool probes;		  /* a prober was opened */
	uint64_t probes_ns;	  /* when */
	struct hk_prober *prober; /* NULL: there is no prober */
	struct hk_clock_map map;
	Hk__ClockMap clock; /* message of `map` */
	struct exchange exchanges[HK_UPLINK_SLOTS];
	uint64_t generation;
	uint64_t report_due_ns, reported_ns;
	bool reporting;		    /* a report was sent and not answered */
	unsigned chunks;	    /* number of chunks sent and not answered */
	uint8_t last[HK_UID_BYTES]; /* process of the chunk sent last */
	struct hk_chunk_buffer buffer;
	uint64_t heard_ns;	     /* monotonic; time of the last answer */
	int refused[EXCHANGE_KINDS]; /* last error logged of each kind */
	struct hk_leaf_stacks stacks;
};

static struct hk_access access_of(const struct hk_collector_options *options)
{
	return (struct hk_access){
	    .token_file = options->upstream && hk_uplink_is_engine(options->upstream)
			      ? options->credentials
			      : options->token_file,
	    .authorities = options->tls_authorities,
	    .certificate = options->tls_certificate,
	    .key = options->tls_key,
	};
}

/* Opens the prober once the root has accepted the leaf. Without a prober, times of this node are by
 * its realtime clock. */
static void open_prober(const struct hk_collector *collector, struct hk_leaf *leaf)
{
	char problem[HK_ACCESS_PROBLEM_BYTES];
	if (leaf->probes) {
		return;
	}
	leaf->probes = true;
	if (hk_uplink_is_engine(leaf->url)) {
		return; /* an engine answers no probes */
	}
	leaf->probes_ns = hk_clock_monotonic_ns();
	const struct hk_access access = access_of(&collector->options);
	int r = hk_prober_open(leaf->url, &access, &leaf->prober, problem);
	if (r < 0) {
		hk_warning("the root's clock cannot be read url=%s error=%s %s", leaf->url,
			   strerror(-r), problem);
	}
}

static void read_clock(struct hk_leaf *leaf)
{
	if (leaf->prober && hk_prober_map(leaf->prober, &leaf->map)) {
		hk_clock_map_show(&leaf->map, &leaf->clock);
		leaf->head.clock = &leaf->clock;
	}
}

static void await_clock(struct hk_leaf *leaf, uint64_t now_ns)
{
	struct hk_leaf_report_head *head = &leaf->head;
	if (leaf->probes && !head->clock) {
		read_clock(leaf);
	}
	bool may_come = !leaf->probes || (leaf->prober && now_ns - leaf->probes_ns < CLOCK_WAIT_NS);
	head->clock_awaited = !head->clock && may_come;
}

int hk_leaf_open(struct hk_collector *collector, struct hk_leaf **ret_leaf)
{
	struct hk_leaf *leaf = calloc(1, sizeof(*leaf));
	if (!leaf) {
		return -ENOMEM;
	}
	const struct hk_collector_options *options = &collector->options;
	const struct hk_access access = access_of(options);
	char problem[HK_ACCESS_PROBLEM_BYTES] = "";
	int r = hk_node_id(collector->dirfd[0], leaf->head.id);
	r = r < 0 ? r : hk_uplink_open(options->upstream, &access, &leaf->uplink, problem);
	if (r < 0) {
		hk_error("cannot bring anything to %s: %s", options->upstream,
			 *problem	? problem
			 : r == -EINVAL ? "a root's address looks like tls+tcp://HOST:PORT"
					: strerror(-r));
		hk_leaf_free(collector, leaf);
		return r;
	}
	hk_node_boot(leaf->head.boot);
	leaf->url = options->upstream;
	leaf->head.host = collector->host;
	leaf->head.epoch = collector->start_unix_ns;
	leaf->heard_ns = hk_clock_monotonic_ns();
	hk_outbox_restore(&leaf->outbox, collector);
	*ret_leaf = leaf;
	return 0;
}

void hk_leaf_link_all(const struct hk_leaf *leaf, const struct hk_collector *collector)
{
	hk_node_save_id(collector->dirfd[0], leaf->head.id);
	hk_outbox_link_all(&leaf->outbox, collector);
}

struct hk_leaf *hk_leaf_free(struct hk_collector *collector, struct hk_leaf *leaf)
{
	if (!leaf) {
		return NULL;
	}
	hk_leaf_stacks_fini(&leaf->stacks, collector);
	hk_prober_free(leaf->prober);
	hk_uplink_free(leaf->uplink);
	hk_outbox_fini(&leaf->outbox);
	free(leaf->buffer.bytes);
	free(leaf);
	return NULL;
}

int hk_leaf_fd(const struct hk_leaf *leaf)
{
	return hk_uplink_fd(leaf->uplink);
}

uint64_t hk_leaf_due(const struct hk_leaf *leaf)
{
	uint64_t due = hk_uplink_due(leaf->uplink);
	bool reports = hk_uplink_connected(leaf->uplink) && !leaf->reporting;
	if (hk_leaf_stacks_is_busy(&leaf->stacks)) {
		return hk_clock_monotonic_ns() + HK_SURVEY_STEP_NS;
	}
	return reports && leaf->report_due_ns < due ? leaf->report_due_ns : due;
}

/* Makes a report due soon, at most some dozens a second. */
static void report_soon(struct hk_leaf *leaf)
{
	leaf->report_due_ns = leaf->reported_ns + REPORT_SOON_NS;
}

/* Notes in the run directory that JOB is not on the root, while it has processes. Returns 0, or
 * -errno if JOB must not be closed yet. */
static int note(const struct hk_collector *collector, const struct hk_job *job)
{
	int r = hk_jobdir_link(collector->dirfd[0], HK_RUNDIR_UNSENT, job->state->id,
			       job->state->directory);
	/* If the run directory was removed, all notes are made when it is made again. */
	return r == -ENOENT ? 0 : r;
}

int hk_leaf_observe(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event)
{
	if (event != HK_JOB_CLOSING) {
		return event == HK_JOB_ENDING ? note(collector, job) : 0;
	}
	hk_outbox_close(&collector->leaf->outbox, collector, job);
	/* The root gets the full time for this job, however long it was silent. */
	collector->leaf->heard_ns = hk_clock_monotonic_ns();
	report_soon(collector->leaf);
	return 0;
}

void hk_leaf_status(const struct hk_leaf *leaf, Hk__Uplink *ret_status)
{
	const struct hk_outbox_job *job;
	hk__uplink__init(ret_status);
	ret_status->url = (char *)leaf->url;
	/* A connection without any answer does not count as connected. */
	ret_status->connected =
	    hk_uplink_connected(leaf->uplink) && hk_uplink_replied(leaf->uplink);
	ret_status->problem = (char *)hk_uplink_problem(leaf->uplink);
	ret_status->unsent_bytes = hk_outbox_bytes(&leaf->outbox);
	ret_status->shed_records = leaf->head.shed_records;
	DL_FOREACH (leaf->outbox.jobs, job) {
		ret_status->unsent_jobs += !job->job && !job->complete;
	}
}

bool hk_leaf_done(const struct hk_leaf *leaf)
{
	const struct hk_outbox_job *job;
	if (hk_clock_monotonic_ns() - leaf->heard_ns > PATIENCE_NS) {
		return true;
	}
	DL_FOREACH (leaf->outbox.jobs, job) {
		if (!job->complete) {
			return false;
		}
	}
	return true;
}

/* ---- reports ---- */

static void send_report(const struct hk_collector *collector, struct hk_leaf *leaf, uint64_t now_ns)
{
	struct hk_leaf_report report;
	Hk__Request request = HK__REQUEST__INIT;
	leaf->head.spooled_bytes = hk_outbox_bytes(&leaf->outbox);
	leaf->head.shed_records = hk_outbox_evicted(&leaf->outbox, collector);
	read_clock(leaf);
	if (hk_leaf_report_make(collector, &leaf->head, &leaf->outbox, &report) < 0) {
		leaf->report_due_ns = now_ns + SECOND_NS;
		return;
	}
	request.version = (char *)HK_VERSION;
	request.what_case = HK__REQUEST__WHAT_REPORT;
	request.report = &report.message;
	int slot = hk_uplink_send(leaf->uplink, &request);
	hk_leaf_report_fini(&report, slot >= 0);
	leaf->report_due_ns = now_ns + SECOND_NS;
	leaf->reported_ns = now_ns;
	if (slot < 0) {
		hk_debug("report not sent error=%s", strerror(-slot));
		return;
	}
	leaf->exchanges[slot].kind = EXCHANGE_REPORT;
	leaf->reporting = true;
	if (report.more) {
		report_soon(leaf);
	}
}

/* Takes the states sent of JOB's processes as acknowledged. If the root was asked for the chunk
 * number of a process and gave no number, the process is reported again. */
static void take_told(struct hk_outbox_job *job)
{
	struct hk_outbox_process *process;
	DL_FOREACH (job->processes, process) {
		if (process->sending) {
			hk_outbox_acknowledge_state(process);
			if (!process->known) {
				hk_outbox_forget(process);
			}
		}
	}
}

/* Handles the root's refusal of a report about JOB. */
static void take_job_error(struct hk_leaf *leaf, struct hk_outbox_job *job, int error)
{
	struct hk_outbox_process *process;
	/* With -ESTALE the root asks for the whole state of a process. After -EAGAIN the next
	 * report sends it again. */
	bool again = error == -ESTALE || error == -EAGAIN;
	if (error != job->refused && !again) {
		hk_warning("the root does not take a job id=%s error=%s", hk_outbox_state(job)->id,
			   strerror(-error));
	}
	job->refused = error;
	DL_FOREACH (job->processes, process) {
		if (process->sending) {
			hk_outbox_forget(process);
			process->sending = false;
		}
	}
	job->complete_sending = false;
	if (!job->job && !again) {
		hk_outbox_postpone(&leaf->outbox, job);
	}
}

/* Handles the root's answer about JOB. */
static void take_job_reply(struct hk_collector *collector, struct hk_leaf *leaf,
			   struct hk_outbox_job *job, const Hk__LeafJobReply *reply,
			   uint64_t now_ns)
{
	if (reply->error < 0) {
		take_job_error(leaf, job, reply->error);
		return;
	}
	job->refused = 0;
	take_told(job);
	hk_outbox_name(job, reply->id);
	if (job->complete_sending && reply->saved) {
		hk_outbox_complete(collector, job, now_ns);
		hk_info("job is on the root id=%s root=%s", job->state->id, reply->id);
		report_soon(leaf); /* report the next job */
	}
	job->complete_sending = false;
	if (!job->job) {
		return;
	}
	hk_leaf_stacks_want(&leaf->stacks, collector, job->job, reply);
	/* While the job's hookcli is alive, it closes the job and reports its end. */
	job->job->close_requested |=
	    reply->ended && !hk_rundir_job_is_kept(collector->dirfd[0], job->job->state->key);
	if (job->control_changes != reply->control_changes &&
	    hk_rules_adopt(job->job, reply, leaf->head.root_ahead_ns) == 0) {
		job->control_changes = reply->control_changes;
	}
}

static void take_chunk_reply(const struct hk_collector *collector, struct hk_leaf *leaf,
			     const Hk__ChunkReply *reply)
{
	struct hk_outbox_process *process = reply->process.len == HK_UID_BYTES
						? hk_outbox_find(&leaf->outbox, reply->process.data)
						: NULL;
	if (process && !process->known) {
		hk_outbox_begin(process, reply->last);
	} else if (process) {
		hk_outbox_acknowledge(collector, process, reply->last);
	}
}

static void take_report_reply(struct hk_collector *collector, struct hk_leaf *leaf,
			      const Hk__LeafReply *reply, uint64_t now_ns)
{
	struct hk_outbox_job *job;
	for (size_t i = 0; i < reply->n_chunks; i++) {
		take_chunk_reply(collector, leaf, reply->chunks[i]);
	}
	for (size_t i = 0; i < reply->n_jobs; i++) {
		const Hk__LeafJobReply *part = reply->jobs[i];
		DL_FOREACH (leaf->outbox.jobs, job) {
			const Hk__Job *state = hk_outbox_state(job);
			if (strcmp(state->key, part->key) == 0 &&
			    state->opened_unix_ns == part->opened_unix_ns) {
				take_job_reply(collector, leaf, job, part, now_ns);
			}
		}
	}
	/* Jobs may lack an answer: the report came twice, the second copy was ignored, and this
	 * answers the second copy. */
	hk_outbox_unsend(&leaf->outbox);
}

/* ---- chunks ---- */

static int send_chunk(struct hk_leaf *leaf, struct hk_outbox_process *process)
{
	Hk__Request request = HK__REQUEST__INIT;
	Hk__ChunkPut put = HK__CHUNK_PUT__INIT;
	size_t size;
	int r = hk_outbox_chunk(process, &leaf->buffer, &size);
	if (r <= 0) {
		return r;
	}
	put.job = hk_outbox_state(process->job)->key;
	put.process = (ProtobufCBinaryData){HK_UID_BYTES, process->uid};
	put.number = process->sent;
	put.gap = process->gap;
	put.chunk = (ProtobufCBinaryData){size, leaf->buffer.bytes};
	request.version = (char *)HK_VERSION;
	request.what_case = HK__REQUEST__WHAT_CHUNK;
	request.chunk = &put;
	int slot = hk_uplink_send(leaf->uplink, &request);
	if (slot < 0) {
		hk_outbox_rewind(process);
		return slot;
	}
	struct exchange *exchange = &leaf->exchanges[slot];
	exchange->kind = EXCHANGE_CHUNK;
	memcpy(exchange->uid, process->uid, HK_UID_BYTES);
	memcpy(leaf->last, process->uid, HK_UID_BYTES);
	process->chunks_sending++;
	leaf->chunks++;
	return 1;
}

/* Sends chunks until the window is full, one of each process in turn. */
static void send_chunks(struct hk_leaf *leaf, uint64_t now_ns)
{
	size_t count = HASH_COUNT(leaf->outbox.processes), idle = 0;
	struct hk_outbox_process *process = hk_outbox_find(&leaf->outbox, leaf->last);
	while (leaf->chunks < HK_UPLINK_CHUNKS && idle < count) {
		process = process && process->hh.next ? process->hh.next : leaf->outbox.processes;
		bool ready =
		    process->known && process->hold_ns <= now_ns && hk_outbox_has_chunk(process);
		int r = ready ? send_chunk(leaf, process) : 0;
		if (r < 0) {
			hk_debug("chunk not sent error=%s", strerror(-r));
			process->hold_ns = now_ns + HOLD_NS;
		}
		idle = r > 0 ? 0 : idle + 1;
	}
}

static void take_put_reply(const struct hk_collector *collector, struct hk_leaf *leaf,
			   const struct exchange *exchange, const Hk__Response *response,
			   uint64_t now_ns)
{
	struct hk_outbox_process *process = hk_outbox_find(&leaf->outbox, exchange->uid);
	leaf->chunks--;
	if (!process) {
		return;
	}
	process->chunks_sending--;
	uint64_t before = process->acknowledged;
	if (response->chunk) {
		hk_outbox_acknowledge(collector, process, response->chunk->last);
	}
	/* An answer without an error may belong to a chunk whose predecessor was refused. */
	if (process->acknowledged > before) {
		leaf->refused[EXCHANGE_CHUNK] = 0;
	}
	if (response->error == -ENOENT) {
		/* The root does not know the process any more: the next report sends it again. */
		process->known = false;
		hk_outbox_forget(process);
		report_soon(leaf);
	} else if (response->error < 0) {
		process->hold_ns = now_ns + HOLD_NS;
	}
	/* A chunk was refused, and no earlier chunk that it could have waited for is outstanding.
	 */
	if (process->acknowledged < process->sent && process->chunks_sending == 0) {
		hk_outbox_rewind(process);
	}
}

/* ---- answers ---- */

/* Writes one line to the log per reason of the root to refuse. Reports and chunks have a reason
 * each, because a root may take the ones and refuse the others. */
static void note_refusal(struct hk_leaf *leaf, enum exchange_kind kind,
			 const Hk__Response *response)
{
	if (response->error != 0 && response->error != leaf->refused[kind]) {
		hk_warning("the root refuses error=%s text=%s", strerror(-response->error),
			   response->text);
		leaf->refused[kind] = response->error;
	}
}

static void take_answer(struct hk_collector *collector, struct hk_leaf *leaf,
			const struct hk_uplink_reply *answer, uint64_t now_ns)
{
	struct exchange exchange = leaf->exchanges[answer->slot];
	const Hk__Response *response = answer->response;
	leaf->exchanges[answer->slot].kind = EXCHANGE_NONE;
	leaf->heard_ns = now_ns;
	note_refusal(leaf, exchange.kind, response);
	if (exchange.kind == EXCHANGE_CHUNK) {
		take_put_reply(collector, leaf, &exchange, response, now_ns);
	} else if (exchange.kind == EXCHANGE_REPORT) {
		leaf->reporting = false;
		if (response->error == 0 && response->leaf) {
			leaf->refused[EXCHANGE_REPORT] = 0;
			hk_leaf_report_clock(&leaf->head, response->leaf);
			take_report_reply(collector, leaf, response->leaf, now_ns);
		} else {
			hk_outbox_unsend(&leaf->outbox);
			leaf->report_due_ns = now_ns + SECOND_NS;
		}
	}
}

static void take_answers(struct hk_collector *collector, struct hk_leaf *leaf, uint64_t now_ns)
{
	struct hk_uplink_reply answer;
	while (hk_uplink_next(leaf->uplink, &answer) > 0) {
		Hk__Response *response = answer.response;
		if (!response) {
			hk_uplink_senseless(leaf->uplink, now_ns);
			return;
		}
		if (response->error == -EACCES) {
			hk_uplink_refused(leaf->uplink, now_ns, response->text);
			hk__response__free_unpacked(response, NULL);
			return;
		}
		take_answer(collector, leaf, &answer, now_ns);
		hk__response__free_unpacked(response, NULL);
		open_prober(collector, leaf);
	}
}

/* Starts again after a connection was given up: all unanswered messages are sent again. */
static void begin_anew(struct hk_leaf *leaf, uint64_t now_ns)
{
	leaf->generation = hk_uplink_generation(leaf->uplink);
	leaf->reporting = false;
	leaf->chunks = 0;
	leaf->report_due_ns = now_ns;
	memset(leaf->exchanges, 0, sizeof(leaf->exchanges));
	hk_outbox_reset(&leaf->outbox);
}

/* If all of a closed job has been sent, the next report says so. The root answers when the job is
 * saved. */
static void complete_soon(struct hk_leaf *leaf)
{
	const struct hk_outbox_job *job;
	DL_FOREACH (leaf->outbox.jobs, job) {
		if (!job->complete && !job->complete_sending && hk_outbox_all_sent(job) &&
		    !leaf->head.clock_awaited) {
			report_soon(leaf);
		}
	}
}

static void remove_complete(struct hk_collector *collector, uint64_t now_ns)
{
	struct hk_outbox *outbox = &collector->leaf->outbox;
	struct hk_outbox_job *job, *next;
	DL_FOREACH_SAFE(outbox->jobs, job, next)
	{
		if (!job->complete || job->job ||
		    (!job->state->announced && now_ns - job->complete_ns < LATE_NS)) {
			continue;
		}
		char directory[PATH_MAX];
		bool announced = job->state->announced;
		snprintf(directory, sizeof(directory), "%s", job->state->directory);
		hk_outbox_remove(outbox, collector, job);
		/* An announced job stays, because its user may look for it by name. */
		if (!announced) {
			hk_job_drop(collector, directory);
			hk_jobdir_remove(directory);
		}
	}
}

void hk_leaf_run(struct hk_collector *collector, uint64_t now_ns)
{
	struct hk_leaf *leaf = collector->leaf;
	if (hk_outbox_update(&leaf->outbox, collector)) {
		report_soon(leaf);
	}
	take_answers(collector, leaf, now_ns);
	hk_uplink_tend(leaf->uplink, now_ns);
	if (leaf->generation != hk_uplink_generation(leaf->uplink)) {
		begin_anew(leaf, now_ns);
	}
	if (!hk_uplink_connected(leaf->uplink)) {
		return;
	}
	await_clock(leaf, now_ns);
	complete_soon(leaf);
	if (!leaf->reporting && now_ns >= leaf->report_due_ns) {
		send_report(collector, leaf, now_ns);
		hk_outbox_release(&leaf->outbox, collector);
	}
	send_chunks(leaf, now_ns);
	int slot = hk_leaf_stacks_run(&leaf->stacks, collector, leaf->uplink, leaf->head.id);
	if (slot >= 0) {
		leaf->exchanges[slot].kind = EXCHANGE_STACKS;
	}
	remove_complete(collector, now_ns);
}
