#include "collector/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "collector/control.h"
#include "collector/http/http.h"
#include "collector/job/disk_reserve.h"
#include "collector/left_out.h"
#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/job_close.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_open.h"
#include "collector/lifecycle/job_quota.h"
#include "collector/lifecycle/job_save.h"
#include "collector/lifecycle/job_sum.h"
#include "collector/lifecycle/process_exit.h"
#include "collector/lifecycle/process_list.h"
#include "collector/link/chunk_intake.h"
#include "collector/link/gather.h"
#include "collector/link/intake.h"
#include "collector/link/leaf.h"
#include "collector/link/node.h"
#include "collector/link/peers.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/process/naming.h"
#include "collector/process/process_state.h"
#include "collector/server/rejections.h"
#include "collector/server/server.h"
#include "collector/trigger/trigger.h"
#include "report/build/rollup.h"
#include "wire/message.h"
#include "wire/sites.h"
#include "wire/statistics.h"

/* Longest wait for processes to end before the job is said to be alive. */
#define STRAGGLER_NS 1000000000u
/* Longest wait for the data of other nodes. */
#define NODES_NS 20000000000u
/* Longest wait of a chunk for its predecessor, which it may overtake. */
#define FORERUNNER_NS 1000000000u

/* A response, with the data that it borrows or owns until it is packed. */
struct answer {
	Hk__Response response;
	Hk__StatusReply status;
	Hk__PagesReply pages;
	Hk__Uplink uplink;
	Hk__ControlReply control;
	Hk__ClockReply clock;
	Hk__ChunkReply chunk;
	struct hk_intake_reply intake;
	Hk__Snapshot snapshot;	/* borrowed parts */
	Hk__Snapshot *loaded;	/* loaded from a directory; owned */
	struct hk_rollup fold;	/* rollup of `snapshot` or `loaded` */
	Hk__Process **borrowed; /* owned; array of `snapshot` */
	Hk__Job **jobs;		/* owned array */
	Hk__Leaf **leaves;
	Hk__Account **accounts; /* owned array of owned elements */
	const char *user;	/* user whose jobs are visible; "": all users */
	struct hk_quota *quota;
	struct hk_account *account; /* account of the client */
	struct hk_request_wait *wait;
	struct hk_gather *gather; /* owned; of the response's stacks */
	char text[256];
};

static int fail(struct answer *answer, int error, const char *format, const char *argument)
{
	snprintf(answer->text, sizeof(answer->text), format, argument);
	answer->response.error = error;
	answer->response.text = answer->text;
	return 1;
}

static int answer_list(struct hk_collector *collector, Hk__Request *request, struct answer *answer)
{
	(void)request;
	int r = hk_jobs_list(collector, answer->user, &answer->jobs, &answer->response.n_jobs);
	if (r < 0) {
		return fail(answer, r, "out of memory%s", "");
	}
	answer->response.jobs = answer->jobs;
	return 1;
}

static int answer_status(struct hk_collector *collector, Hk__Request *request,
			 struct answer *answer)
{
	(void)request;
	Hk__StatusReply *status = &answer->status;
	struct timespec cpu;
	hk__status_reply__init(status);
	int r = hk_jobs_list(collector, answer->user, &answer->jobs, &status->n_jobs);
	r = r < 0 ? r : hk_peers_list(collector, answer->user, &answer->leaves, &status->n_leaves);
	hk_job_quota_count_jobs(answer->quota, collector->jobs);
	r = r < 0 ? r
		  : hk_server_accounts(collector->server, answer->user, &answer->accounts,
				       &status->n_accounts);
	if (r < 0) {
		return fail(answer, r, "out of memory%s", "");
	}
	status->jobs = answer->jobs;
	status->leaves = answer->leaves;
	status->accounts = answer->accounts;
	for (size_t i = 0; i < status->n_jobs; i++) {
		status->stored_bytes += status->jobs[i]->stored_bytes;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	status->pid = (uint32_t)getpid();
	status->version = (char *)HK_VERSION;
	status->run_directory = collector->run_directory;
	status->store = collector->store;
	status->start_unix_ns = collector->start_unix_ns;
	status->segments = HASH_COUNT(collector->processes);
	status->incompatible = collector->incompatible;
	status->refused = collector->refused;
	status->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	status->drained_records = collector->drained_records;
	status->url = collector->url;
	if (collector->leaf) {
		hk_leaf_status(collector->leaf, &answer->uplink);
		status->uplink = &answer->uplink;
	}
	status->listen = (char *)(uintptr_t)hk_server_url(collector->server);
	status->http = (char *)(uintptr_t)hk_http_url(collector->http);
	status->turned_away = hk_rejections_total(collector->rejections);
	answer->response.status = status;
	return 1;
}

/* Finds the job that TEXT names. Returns 0, or 1 with the failure in ANSWER. */
static int select_job(struct hk_collector *collector, const char *text, struct answer *answer,
		      struct hk_job **ret_job)
{
	int r = hk_job_select(collector, text, answer->user, ret_job);
	if (r == -ENOENT) {
		return fail(answer, r, *text ? "no job '%s' here" : "no job yet%s", text);
	}
	return r < 0 ? fail(answer, r, "more than one job begins with '%s'", text) : 0;
}

/* Replaces the snapshot by its rollup, which is enough for a screen of many ranks. */
static int fold(struct answer *answer, const Hk__SnapshotRequest *request, const uint64_t *digests)
{
	int r = hk_rollup_init(&answer->fold, answer->response.snapshot, request, digests);
	if (r < 0) {
		answer->response.snapshot = NULL;
		return fail(answer, r, "cannot fold the calls: %s", strerror(-r));
	}
	answer->response.snapshot = &answer->fold.snapshot;
	return 1;
}

/* Makes the rollup of a job in memory, whose sites have known digests. */
static int fold_job(struct answer *answer, const Hk__SnapshotRequest *request, struct hk_job *job)
{
	struct hk_process *process;
	size_t count = 0;
	uint64_t *digests = malloc((job->process_count + 1) * sizeof(*digests));
	if (!digests) {
		return fail(answer, -ENOMEM, "out of memory%s", "");
	}
	DL_FOREACH (job->processes, process) {
		if (process->remote && process->remote->sites_digest == 0) {
			process->remote->sites_digest = hk_sites_digest(process->state);
		}
		digests[count++] = process->remote ? process->remote->sites_digest : 0;
	}
	int r = fold(answer, request, digests);
	free(digests);
	return r;
}

static int answer_snapshot(struct hk_collector *collector, Hk__Request *request,
			   struct answer *answer)
{
	const Hk__SnapshotRequest *wanted = request->snapshot;
	struct hk_job *job;
	struct hk_process *process;
	if (wanted->exact) {
		job = hk_job_find_id(collector, wanted->job,
				     *answer->user ? answer->user : wanted->user);
		if (!job) {
			return fail(answer, -ENOENT, "no job '%s' here", wanted->job);
		}
	} else if (select_job(collector, wanted->job, answer, &job) > 0) {
		return 1;
	}
	if (job->state->closed) {
		int r = hk_statistics_load(job->state->directory, &answer->loaded);
		if (r < 0 && !answer->loaded) {
			return fail(answer, r, "cannot read %s", job->state->directory);
		}
		answer->response.snapshot = answer->loaded;
		return wanted->by_function ? fold(answer, wanted, NULL) : 1;
	}
	DL_FOREACH (job->processes, process) {
		if (process->segment) {
			hk_state_refresh(collector, process, false);
		}
	}
	int r = hk_job_snapshot(job, &answer->snapshot);
	if (r < 0) {
		return fail(answer, r, "out of memory%s", "");
	}
	answer->borrowed = answer->snapshot.processes;
	answer->response.snapshot = &answer->snapshot;
	return wanted->by_function ? fold_job(answer, wanted, job) : 1;
}

/* Opens an address for pages unless there is one. Only this machine's owner may: the pages show the
 * jobs of all. */
static int answer_pages(struct hk_collector *collector, Hk__Request *request, struct answer *answer)
{
	char problem[HK_ACCESS_PROBLEM_BYTES] = "";
	(void)request;
	if (*answer->user) {
		return fail(answer, -EPERM, "%s may not open pages here", answer->user);
	}
	if (!collector->http) {
		int r = hk_http_open_own(collector, &collector->http, problem);
		if (r < 0) {
			return fail(answer, r, "cannot show pages: %s", *problem ? problem : "");
		}
	}
	hk__pages_reply__init(&answer->pages);
	answer->pages.url = (char *)(uintptr_t)hk_http_site(collector->http);
	answer->pages.token = (char *)(uintptr_t)hk_http_own_token(collector->http);
	answer->response.pages = &answer->pages;
	return 1;
}

static int answer_exit(struct hk_collector *collector, Hk__Request *request, struct answer *answer)
{
	const Hk__ExitNotice *notice = request->exit;
	if (*answer->user) {
		return fail(answer, -EPERM, "processes of this machine are not %s's", answer->user);
	}
	/* The process's segment may be too new to be attached yet. */
	hk_discovery_run(collector);
	hk_process_notice(collector, notice);
	return 1;
}

static int answer_open(struct hk_collector *collector, Hk__Request *request, struct answer *answer)
{
	const Hk__OpenJobRequest *wanted = request->open_job;
	struct hk_job *job;
	if (!*wanted->job) {
		return fail(answer, -EINVAL, "a job needs an id%s", "");
	}
	hk_quota_cut(wanted->job, HK_QUOTA_NAME_BYTES);
	hk_quota_cut(wanted->name, HK_QUOTA_NAME_BYTES);
	hk_quota_cut(wanted->command, HK_QUOTA_COMMAND_BYTES);
	job = hk_job_find_of(collector, wanted->job, answer->user);
	if (!job || job->state->closed) {
		const struct hk_job_request open = {
		    .key = wanted->job,
		    .name = wanted->name,
		    .command = wanted->command,
		    .user = answer->user,
		    .pid = wanted->pid,
		    .announced = true,
		};
		struct hk_quota *quota = answer->quota;
		int r = hk_job_quota_open(quota, answer->account, collector->jobs,
					  hk_clock_monotonic_ns());
		if (r < 0) {
			return fail(answer, r, "%s has too many jobs", answer->account->name);
		}
		r = hk_job_open(collector, &open, &job);
		if (r < 0) {
			return fail(answer, r, "cannot make the job directory: %s", strerror(-r));
		}
		job->account = hk_quota_payer(quota, answer->account);
	} else if (!job->state->announced || !*job->state->command) {
		/* The job's first process came before its announcement. */
		job->state->announced = true;
		job->state->command_pid = wanted->pid;
		hk_field_set_string(&job->state->command, wanted->command);
		if (*wanted->name) {
			hk_field_set_string(&job->state->name, wanted->name);
		}
		job->changed = true;
	}
	hk_triggers_adopt(job, wanted->triggers);
	answer->response.job = job->state;
	return 1;
}

/* Finalises ended processes of JOB. Returns false if one is left to wait for. Sets *RET_ERROR to
 * why an ended one could not be finalised, or to 0. */
static bool settle_job(struct hk_collector *collector, struct hk_job *job, int *ret_error)
{
	struct hk_process *process, *next;
	hk_discovery_run(collector);
	bool settled = collector->waiting == 0 && hk_peers_missing(collector, job) == 0;
	*ret_error = 0;
	DL_FOREACH_SAFE(job->processes, process, next)
	{
		if (!process->segment) {
			settled &= !hk_process_has_segment(process, hk_clock_monotonic_ns());
			continue;
		}
		hk_process_check(process);
		int r = process->exited ? hk_process_finalise(collector, process) : 0;
		*ret_error = r < 0 ? r : *ret_error;
		if (!process->exited || r < 0) {
			settled = false;
		}
	}
	return settled;
}

static int answer_close(struct hk_collector *collector, Hk__Request *request, struct answer *answer)
{
	const Hk__CloseJobRequest *wanted = request->close_job;
	struct hk_job *job;
	uint64_t now = hk_clock_monotonic_ns();
	if (select_job(collector, wanted->job, answer, &job) > 0) {
		return 1;
	}
	if (answer->wait->until_ns == 0) {
		answer->wait->until_ns = now + (job->state->n_nodes > 0 ? NODES_NS : STRAGGLER_NS);
		if (wanted->have_status &&
		    (!job->state->have_exit || job->state->exit_status != wanted->status)) {
			if (job->state->closed && hk_job_reopen(collector, job) < 0) {
				return fail(answer, -EIO, "cannot open %s", job->state->directory);
			}
			job->state->have_exit = true;
			job->state->exit_status = wanted->status;
			job->changed = true;
		}
	}
	answer->response.job = job->state;
	if (job->state->closed) {
		return 1;
	}
	job->close_requested = true;
	int error;
	if (settle_job(collector, job, &error)) {
		if (!hk_naming_settled(collector, job, now)) {
			return 0;
		}
		error =
		    hk_job_close_is_due(job, now) ? hk_job_close(collector, job) : job->close_error;
		if (error == 0) {
			return 1;
		}
	}
	if (now < answer->wait->until_ns) {
		return 0;
	}
	hk_job_save(collector, job);
	hk_job_sum(job);
	if (error < 0) {
		return fail(
		    answer, error,
		    hk_reserve_is_full(error)
			? "its directory cannot be written: %s; make room, the collector tries on"
			: "its directory cannot be written: %s; the collector tries on",
		    strerror(-error));
	}
	return fail(answer, -EBUSY, "processes of job %s still run; it closes when they end",
		    job->state->id);
}

static int answer_control(struct hk_collector *collector, Hk__Request *request,
			  struct answer *answer)
{
	struct hk_job *job;
	char text[HK_CONTROL_TEXT_BYTES];
	if (select_job(collector, request->control->job, answer, &job) > 0) {
		return 1;
	}
	answer->response.job = job->state;
	int r = hk_control(collector, job, request->control, &answer->control, text);
	if (r < 0) {
		return fail(answer, r, "%s", text);
	}
	answer->response.control = r > 0 ? &answer->control : NULL;
	return 1;
}

static int answer_report(struct hk_collector *collector, Hk__Request *request,
			 struct answer *answer)
{
	Hk__LeafReport *report = request->report;
	const struct hk_intake_client client = {
	    .user = answer->user, .account = answer->account, .quota = answer->quota};
	int r = hk_intake_report(collector, &client, report, &answer->intake);
	if (r < 0) {
		return fail(answer, r, "report not taken: %s", strerror(-r));
	}
	answer->response.leaf = &answer->intake.message;
	return 1;
}

static int answer_chunk(struct hk_collector *collector, Hk__Request *request, struct answer *answer)
{
	Hk__ChunkPut *put = request->chunk;
	uint64_t now = hk_clock_monotonic_ns();
	hk__chunk_reply__init(&answer->chunk);
	answer->chunk.process = put->process;
	int r = hk_chunk_intake_put(collector, answer->user, put, &answer->chunk.last);
	if (r == 0 && answer->wait->until_ns == 0) {
		answer->wait->until_ns = now + FORERUNNER_NS;
	}
	if (r == 0 && now < answer->wait->until_ns) {
		return 0;
	}
	answer->response.chunk = &answer->chunk;
	return r < 0 ? fail(answer, r, "chunk not stored: %s", strerror(-r)) : 1;
}

/* Answers a leaf that measures the offset of its clock from the root's. */
static int answer_probe(struct hk_collector *collector, Hk__Request *request, struct answer *answer)
{
	(void)request;
	hk__clock_reply__init(&answer->clock);
	answer->clock.boot = (ProtobufCBinaryData){HK_NODE_ID_BYTES, collector->boot};
	answer->clock.received_ns = answer->wait->received_ns;
	answer->clock.sent_ns = hk_clock_monotonic_ns();
	answer->response.clock = &answer->clock;
	return 1;
}

/* The answer comes when all threads have been asked; other requests about stacks wait until then.
 */
static int answer_stacks(struct hk_collector *collector, Hk__Request *request,
			 struct answer *answer)
{
	struct hk_job *job;
	int r = select_job(collector, request->stacks->job, answer, &job);
	if (r == 0 && job->state->closed) {
		r = fail(answer, -ENOENT, "job %s has ended", job->state->id);
	}
	if (r > 0) {
		hk_gather_drop(collector, answer->wait);
		return r;
	}
	r = hk_gather_run(collector, job, request->stacks, answer->wait, &answer->gather);
	if (r > 0) {
		answer->response.stacks = hk_gather_reply(answer->gather);
	}
	return r < 0 ? fail(answer, r, "out of memory%s", "") : r;
}

static int answer_stacks_put(struct hk_collector *collector, Hk__Request *request,
			     struct answer *answer)
{
	int r = hk_gather_put(collector, answer->user, request->stacks_put);
	return r < 0 ? fail(answer, r, "stacks not taken: %s", strerror(-r)) : 1;
}

static int answer_unknown(struct hk_collector *collector, Hk__Request *request,
			  struct answer *answer)
{
	(void)collector;
	(void)request;
	return fail(answer, -ENOSYS, "this collector (version %s) does not know that request",
		    HK_VERSION);
}

/* ---- the requests ---- */

/* A request of wire.proto. A handler returns 1 if the answer is complete, 0 if postponed. */
static const struct kind {
	Hk__Request__WhatCase what;
	enum hk_right right;
	int (*answer)(struct hk_collector *collector, Hk__Request *request, struct answer *answer);
} kinds[] = {
    {HK__REQUEST__WHAT_STATUS, HK_RIGHT_READ, answer_status},
    {HK__REQUEST__WHAT_LIST, HK_RIGHT_READ, answer_list},
    {HK__REQUEST__WHAT_SNAPSHOT, HK_RIGHT_READ, answer_snapshot},
    {HK__REQUEST__WHAT_PAGES, HK_RIGHT_CONTROL, answer_pages},
    {HK__REQUEST__WHAT_PROBE, HK_RIGHT_READ, answer_probe},
    {HK__REQUEST__WHAT_EXIT, HK_RIGHT_CONTROL, answer_exit},
    {HK__REQUEST__WHAT_OPEN_JOB, HK_RIGHT_CONTROL, answer_open},
    {HK__REQUEST__WHAT_CLOSE_JOB, HK_RIGHT_CONTROL, answer_close},
    {HK__REQUEST__WHAT_CONTROL, HK_RIGHT_CONTROL, answer_control},
    {HK__REQUEST__WHAT_REPORT, HK_RIGHT_CONTROL, answer_report},
    {HK__REQUEST__WHAT_CHUNK, HK_RIGHT_CONTROL, answer_chunk},
    {HK__REQUEST__WHAT_STACKS, HK_RIGHT_CONTROL, answer_stacks},
    {HK__REQUEST__WHAT_STACKS_PUT, HK_RIGHT_CONTROL, answer_stacks_put},
    {HK__REQUEST__WHAT__NOT_SET, HK_RIGHT_READ, answer_unknown},
    {0, HK_RIGHT_CONTROL, answer_unknown}, /* any other request */
};

static const struct kind *kind_of(Hk__Request__WhatCase what)
{
	const struct kind *kind = kinds, *last = &kinds[sizeof(kinds) / sizeof(kinds[0]) - 1];
	while (kind < last && kind->what != what) {
		kind++;
	}
	return kind;
}

enum hk_right hk_requests_right(Hk__Request__WhatCase what)
{
	return kind_of(what)->right;
}

static int dispatch(struct hk_collector *collector, Hk__Request *request, struct answer *answer)
{
	return request ? kind_of(request->what_case)->answer(collector, request, answer)
		       : fail(answer, -EBADMSG, "not a request%s", "");
}

/* Packs ANSWER. REQUEST is the request for its snapshot, or NULL if it has no snapshot. */
static int pack(struct answer *answer, const Hk__SnapshotRequest *request, uint8_t **ret_bytes,
		size_t *ret_size)
{
	Hk__Snapshot *snapshot = answer->response.snapshot;
	struct hk_left_out *left_out = NULL;
	if (snapshot && request) {
		left_out = calloc(snapshot->n_processes + 1, sizeof(*left_out));
		if (!left_out) {
			return -ENOMEM;
		}
		hk_left_out_take(snapshot, request, left_out);
	}
	int r = hk_message_pack(&answer->response.base, ret_bytes, ret_size);
	if (left_out) {
		hk_left_out_restore(snapshot, left_out);
		free(left_out);
	}
	return r;
}

int hk_requests_handle(void *context, Hk__Request *request, struct hk_request_wait *wait,
		       uint8_t **ret_bytes, size_t *ret_size)
{
	struct hk_collector *collector = context;
	struct answer answer = {
	    .text = "",
	    .user = wait->user ? wait->user : "",
	    .quota = wait->quota,
	    .account = wait->account,
	    .wait = wait,
	};
	hk__response__init(&answer.response);
	int done = dispatch(collector, request, &answer);
	if (done) {
		bool snapshot = request && request->what_case == HK__REQUEST__WHAT_SNAPSHOT;
		int r = pack(&answer, snapshot ? request->snapshot : NULL, ret_bytes, ret_size);
		if (r < 0) {
			hk__response__init(&answer.response);
			fail(&answer, r, "the answer is too large%s", "");
			r = pack(&answer, NULL, ret_bytes, ret_size);
		}
		if (r < 0) {
			*ret_bytes = NULL;
			*ret_size = 0;
		}
	}
	hk_rollup_fini(&answer.fold);
	free(answer.borrowed);
	free(answer.jobs);
	free(answer.leaves);
	free(answer.accounts);
	hk_intake_reply_fini(&answer.intake);
	hk_gather_free(answer.gather, collector);
	if (answer.loaded) {
		hk__snapshot__free_unpacked(answer.loaded, NULL);
	}
	return done;
}
