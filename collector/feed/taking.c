#include "collector/feed/taking.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/log.h"
#include "collector/feed/answers.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_open.h"
#include "collector/link/chunk_intake.h"
#include "collector/link/gather.h"
#include "collector/link/intake.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/process/ancestry.h"
#include "wire/message.h"

/* Whether what failed with ERROR may be taken later: there is no room, now. */
static bool passes(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -ENOMEM || error == -EMFILE ||
	       error == -ENFILE || error == -EIO || error == -EAGAIN || error == -EROFS;
}

/* ---- gaps ---- */

/* Something before message SEQUENCE is missing; what came before that was message LAST, 0: unknown.
 * Returns whether the stream is to be read for the second time from there. That is done once for
 * each message: while it is read again for one, earlier ones show the same gaps as before. */
static bool searches(struct hk_taking *taking, uint64_t sequence, uint64_t last)
{
	if (taking->replay || sequence <= taking->gap) {
		return false;
	}
	taking->gap = sequence;
	/* Numbers of a stream that was made again begin again. */
	taking->again = last > taking->begin && last < sequence ? last : taking->begin;
	hk_debug("read again behind=%" PRIu64 " because of=%" PRIu64, taking->again, sequence);
	return true;
}

/* ---- reports ---- */

/* Leaves only the replayed job in REPORT. */
static void choose_job(const char *key, Hk__LeafReport *report)
{
	size_t kept = 0;
	for (size_t i = 0; i < report->n_jobs; i++) {
		Hk__LeafJob *job = report->jobs[i];
		bool wanted = job->job &&
			      (strcmp(job->job->key, key) == 0 || strcmp(job->job->name, key) == 0);
		if (wanted) {
			report->jobs[kept++] = job;
		} else {
			hk__leaf_job__free_unpacked(job, NULL);
		}
	}
	report->n_jobs = kept;
}

static int take_report(struct hk_taking *taking, struct hk_collector *collector, uint64_t sequence,
		       Hk__LeafReport *report)
{
	struct hk_intake_client client = {.user = "", .sequence = sequence};
	struct hk_intake_reply reply = {.parts = NULL};
	if (taking->replay) {
		choose_job(taking->replay, report);
	}
	int r = hk_intake_report(collector, &client, report, &reply);
	if (r == 1 && !searches(taking, sequence, reply.last)) {
		hk_intake_reply_fini(&reply);
		client.gap = true;
		r = hk_intake_report(collector, &client, report, &reply);
	}
	for (size_t i = 0; r == 0 && i < reply.message.n_jobs; i++) {
		const Hk__LeafJobReply *job = reply.message.jobs[i];
		if (taking->answers &&
		    hk_answers_give(taking->answers, report->node->id.data, job) < 0) {
			hk_debug("no answer for a leaf job=%s", job->key);
		}
		if (passes(job->error)) {
			r = job->error;
		} else if (job->error < 0) {
			hk_warning("report not taken job=%s error=%s", job->key,
				   strerror(-job->error));
		}
	}
	hk_intake_reply_fini(&reply);
	return r;
}

/* ---- chunks ---- */

/* A report that is nowhere was given up by its leaf, and the next one has its values. */
static void tell_missing(struct hk_taking *taking, uint64_t sequence)
{
	if (taking->told < sequence) {
		taking->told = sequence;
		hk_warning("chunks are missing in the stream before=%" PRIu64, sequence);
	}
}

/* Returns 1, or -errno, or 0 if a chunk before it must be searched for. A chunk whose predecessor
 * is nowhere comes without it. */
static int put_chunk(struct hk_taking *taking, struct hk_collector *collector, uint64_t sequence,
		     Hk__ChunkPut *put)
{
	uint64_t last;
	int r = hk_chunk_intake_put(collector, "", put, &last);
	struct hk_process *process =
	    r < 0 ? NULL : hk_ancestry_by_uid(collector, put->process.data);
	if (r == 0) {
		put->gap = !searches(taking, sequence, process->remote->sequence);
		if (put->gap) {
			tell_missing(taking, sequence);
			r = hk_chunk_intake_put(collector, "", put, &last);
		}
	}
	if (r == 1 && sequence > process->remote->sequence) {
		process->remote->sequence = sequence;
	}
	return r;
}

/* Whether JOB's directory was removed from a store that is there. */
static bool is_removed(const struct hk_collector *collector, const struct hk_job *job)
{
	return access(job->state->directory, F_OK) < 0 && errno == ENOENT &&
	       access(collector->store, F_OK) == 0;
}

static int take_chunk(struct hk_taking *taking, struct hk_collector *collector, uint64_t sequence,
		      Hk__ChunkPut *put)
{
	int r = put_chunk(taking, collector, sequence, put);
	struct hk_job *job = r < 0 ? hk_job_find_of(collector, put->job, "") : NULL;
	/* A root that gave a node up has closed the job without it. */
	if (r == -ENOENT && job && job->state->closed && hk_job_reopen(collector, job) == 0) {
		r = put_chunk(taking, collector, sequence, put);
	}
	r = r == -EIO && job && is_removed(collector, job) ? -ENOENT : r;
	return r < 0 ? r : r == 0 ? HK_TAKING_AGAIN : 0;
}

/* ---- messages ---- */

static int take_request(struct hk_taking *taking, struct hk_collector *collector, uint64_t sequence,
			const void *bytes, size_t size)
{
	ProtobufCMessage *message = NULL;
	int r = hk_message_unpack(&hk__request__descriptor, bytes, size, &message);
	if (r < 0) {
		return r;
	}
	Hk__Request *request = (Hk__Request *)message;
	r = -EBADMSG;
	if (request->what_case == HK__REQUEST__WHAT_REPORT) {
		r = take_report(taking, collector, sequence, request->report);
	} else if (request->what_case == HK__REQUEST__WHAT_CHUNK) {
		bool wanted =
		    !taking->replay || hk_job_find_of(collector, request->chunk->job, "") != NULL;
		r = wanted ? take_chunk(taking, collector, sequence, request->chunk) : 0;
	} else if (request->what_case == HK__REQUEST__WHAT_STACKS_PUT) {
		/* Stacks that come too late are dropped. */
		(void)hk_gather_put(collector, "", request->stacks_put);
		r = 0;
	}
	hk__request__free_unpacked(request, NULL);
	return r;
}

/* Takes in the chunks whose process is known by now. Returns 0 or HK_TAKING_AGAIN. */
static int take_orphans(struct hk_taking *taking, struct hk_collector *collector)
{
	struct hk_orphan *orphan, *next;
	DL_FOREACH_SAFE(taking->orphans.list, orphan, next)
	{
		int r =
		    take_request(taking, collector, orphan->sequence, orphan->bytes, orphan->size);
		if (r == HK_TAKING_AGAIN) {
			return r;
		}
		if (r == 0 || (r != -ENOENT && !passes(r))) {
			hk_orphans_remove(&taking->orphans, orphan);
		}
	}
	return 0;
}

uint64_t hk_taking_oldest(const struct hk_taking *taking)
{
	uint64_t part = hk_assembly_oldest(&taking->assemblies);
	uint64_t orphan = hk_orphans_oldest(&taking->orphans);
	return part < orphan ? part : orphan;
}

bool hk_taking_must_search(struct hk_taking *taking, uint64_t limit_ns)
{
	const struct hk_orphan *orphan = taking->orphans.list;
	return orphan && orphan->came_ns < limit_ns && orphan->sequence > taking->gap &&
	       searches(taking, orphan->sequence, 0);
}

void hk_taking_expire(struct hk_taking *taking, uint64_t limit_ns)
{
	unsigned count = hk_assembly_expire(&taking->assemblies, limit_ns) +
			 hk_orphans_expire(&taking->orphans, limit_ns);
	taking->dropped += count;
	if (count > 0) {
		hk_warning("messages of the stream are dropped, which waited in vain for others "
			   "count=%u",
			   count);
	}
}

void hk_taking_fini(struct hk_taking *taking)
{
	hk_assembly_free_all(&taking->assemblies);
	hk_orphans_expire(&taking->orphans, UINT64_MAX);
}

int hk_taking_take(struct hk_taking *taking, struct hk_collector *collector,
		   const struct hk_source_message *message, uint64_t now_ns)
{
	const void *bytes = message->bytes;
	size_t size = message->size;
	int r = 1;
	if (message->parts > 1) {
		r = hk_assembly_add(&taking->assemblies, message, now_ns, &bytes, &size);
	}
	bool whole = r > 0;
	if (whole) {
		r = take_request(taking, collector, message->sequence, bytes, size);
	}
	if ((whole && r == HK_TAKING_AGAIN) || passes(r)) {
		return r;
	}
	/* An empty list is the rule. */
	if (whole && r == 0 && taking->orphans.list &&
	    take_orphans(taking, collector) == HK_TAKING_AGAIN) {
		return HK_TAKING_AGAIN;
	}
	if (whole && r == -ENOENT && !taking->replay) {
		uint64_t first = hk_assembly_first(&taking->assemblies, message);
		r = hk_orphans_add(&taking->orphans, first, bytes, size, now_ns) == 0 ? 0 : r;
	}
	if (whole && message->parts > 1) {
		hk_assembly_done(&taking->assemblies, message);
	}
	if (r < 0) {
		taking->dropped++;
		hk_warning("a message of the stream is dropped sequence=%" PRIu64
			   " subject=%s error=%s",
			   message->sequence, message->subject,
			   r == -ENOENT ? "its process or its job is not known" : strerror(-r));
	}
	return 0;
}
