#include "collector/feed/taking.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/log.h"
#include "collector/engine/subject.h"
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

/* Something is to be searched for that is missing before MESSAGE. What came before that was message
 * LAST, 0: unknown. */
static void search_for(struct hk_taking *taking, uint64_t last,
		       const struct hk_source_message *message)
{
	taking->before = hk_assembly_first(&taking->assemblies, message);
	/* Numbers of a stream that was made again begin again. */
	taking->behind = last > taking->begin && last < taking->before ? last : taking->begin;
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

static int take_report(struct hk_taking *taking, struct hk_collector *collector,
		       const struct hk_source_message *message, Hk__LeafReport *report)
{
	/* A report that is nowhere was given up by its leaf, and the next one has its values. */
	const struct hk_intake_client client = {
	    .user = "", .sequence = message->sequence, .gap = message->searched || taking->replay};
	struct hk_intake_reply reply = {.parts = NULL};
	if (taking->replay) {
		choose_job(taking->replay, report);
	}
	int r = hk_intake_report(collector, &client, report, &reply);
	if (r == 1) {
		hk_subject_report(taking->partition, report->node->id.data, taking->subject);
		search_for(taking, reply.last, message);
		r = HK_TAKING_SEARCH;
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

/* Returns 1; 0 if chunks before it must be searched for; or -errno. A chunk whose predecessor is
 * nowhere comes without it. */
static int put_chunk(struct hk_taking *taking, struct hk_collector *collector,
		     const struct hk_source_message *message, Hk__ChunkPut *put)
{
	uint64_t last;
	int r = hk_chunk_intake_put(collector, "", put, &last);
	struct hk_process *process =
	    r < 0 ? NULL : hk_ancestry_by_uid(collector, put->process.data);
	if (r == 0 && !message->searched && !taking->replay) {
		hk_subject_chunk(taking->partition, process->state->node.data, process->uid,
				 taking->subject);
		search_for(taking, process->remote->sequence, message);
		return 0;
	}
	if (r == 0) {
		hk_warning("chunks are missing in the stream before=%" PRIu64, message->sequence);
		put->gap = true;
		r = hk_chunk_intake_put(collector, "", put, &last);
	}
	if (r == 1 && message->sequence > process->remote->sequence) {
		process->remote->sequence = message->sequence;
	}
	return r;
}

/* Whether JOB's directory was removed from a store that is there. */
static bool is_removed(const struct hk_collector *collector, const struct hk_job *job)
{
	return access(job->state->directory, F_OK) < 0 && errno == ENOENT &&
	       access(collector->store, F_OK) == 0;
}

static int take_chunk(struct hk_taking *taking, struct hk_collector *collector,
		      const struct hk_source_message *message, Hk__ChunkPut *put)
{
	int r = put_chunk(taking, collector, message, put);
	struct hk_job *job = r < 0 ? hk_job_find_of(collector, put->job, "") : NULL;
	/* A root that gave a node up has closed the job without it. */
	if (r == -ENOENT && job && job->state->closed && hk_job_reopen(collector, job) == 0) {
		r = put_chunk(taking, collector, message, put);
	}
	r = r == -EIO && job && is_removed(collector, job) ? -ENOENT : r;
	return r < 0 ? r : r == 0 ? HK_TAKING_SEARCH : 0;
}

/* ---- messages ---- */

/* Takes what MESSAGE, perhaps with earlier ones, consists of: BYTES. */
static int take_request(struct hk_taking *taking, struct hk_collector *collector,
			const struct hk_source_message *message, const void *bytes, size_t size)
{
	ProtobufCMessage *unpacked = NULL;
	int r = hk_message_unpack(&hk__request__descriptor, bytes, size, &unpacked);
	if (r < 0) {
		return r;
	}
	Hk__Request *request = (Hk__Request *)unpacked;
	r = -EBADMSG;
	if (request->what_case == HK__REQUEST__WHAT_REPORT) {
		r = take_report(taking, collector, message, request->report);
	} else if (request->what_case == HK__REQUEST__WHAT_CHUNK) {
		bool wanted =
		    !taking->replay || hk_job_find_of(collector, request->chunk->job, "") != NULL;
		r = wanted ? take_chunk(taking, collector, message, request->chunk) : 0;
	} else if (request->what_case == HK__REQUEST__WHAT_STACKS_PUT) {
		/* Stacks that come too late are dropped. */
		(void)hk_gather_put(collector, "", request->stacks_put);
		r = 0;
	}
	hk__request__free_unpacked(request, NULL);
	return r;
}

/* Takes in the chunks whose process is known by now. A chunk before one that came after LIMIT_NS
 * may be missing: it waits for the next one of its process, which has that searched for. */
static void take_orphans(struct hk_taking *taking, struct hk_collector *collector,
			 uint64_t limit_ns)
{
	struct hk_orphan *orphan, *next;
	DL_FOREACH_SAFE(taking->orphans.list, orphan, next)
	{
		const struct hk_source_message message = {.sequence = orphan->sequence,
							  .searched = orphan->came_ns < limit_ns};
		int r = take_request(taking, collector, &message, orphan->bytes, orphan->size);
		if (r == 0 || (r < 0 && r != -ENOENT && !passes(r))) {
			hk_orphans_remove(&taking->orphans, orphan);
		}
	}
}

uint64_t hk_taking_oldest(const struct hk_taking *taking)
{
	uint64_t part = hk_assembly_oldest(&taking->assemblies);
	uint64_t orphan = hk_orphans_oldest(&taking->orphans);
	return part < orphan ? part : orphan;
}

void hk_taking_expire(struct hk_taking *taking, struct hk_collector *collector, uint64_t limit_ns)
{
	take_orphans(taking, collector, limit_ns);
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
		r = take_request(taking, collector, message, bytes, size);
	}
	if ((whole && r == HK_TAKING_SEARCH) || passes(r)) {
		return r;
	}
	/* An empty list is the rule. */
	if (whole && r == 0 && taking->orphans.list) {
		take_orphans(taking, collector, 0);
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
