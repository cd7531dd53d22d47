#include "collector/control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "collector/level/rules.h"
#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/job_save.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/process_state.h"
#include "collector/trigger/trigger.h"

__attribute__((format(printf, 3, 4))) static int fail(int error, char text[HK_CONTROL_TEXT_BYTES],
						      const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, HK_CONTROL_TEXT_BYTES, format, arguments);
	va_end(arguments);
	return error;
}

static int fire(struct hk_collector *collector, struct hk_job *job, Hk__ControlReply *reply,
		char text[HK_CONTROL_TEXT_BYTES])
{
	int r = hk_triggers_fire(collector, job, &reply->trigger);
	if (r == -EXDEV) {
		return fail(r, text, "the root keeps the whole job: --collector %.120s",
			    collector->options.upstream);
	}
	if (r == -EDQUOT) {
		return fail(r, text, "job %.80s has had %u triggers, the most of a job",
			    job->state->id, HK_TRIGGERS_MAX);
	}
	return r < 0 ? fail(r, text, "nothing is kept: %s", strerror(-r)) : 0;
}

static int change(struct hk_collector *collector, struct hk_job *job,
		  const Hk__ControlRequest *request, Hk__ControlReply *reply,
		  char text[HK_CONTROL_TEXT_BYTES])
{
	struct hk_process *process;
	/* The job's processes may be too new to be attached yet. */
	hk_discovery_run(collector);
	DL_FOREACH (job->processes, process) {
		if (process->segment) {
			hk_state_refresh(collector, process, false);
		}
	}
	int r = hk_rules_change(job, request, reply);
	if (r == -ENOSPC) {
		return fail(r, text,
			    "job %.80s has as many rules as an agent takes: hookcli ctl reset",
			    job->state->id);
	}
	return r < 0 ? fail(r, text, "no such change: %s", strerror(-r)) : 0;
}

int hk_control(struct hk_collector *collector, struct hk_job *job,
	       const Hk__ControlRequest *request, Hk__ControlReply *ret_reply,
	       char text[HK_CONTROL_TEXT_BYTES])
{
	if (!request->trigger && request->n_rules == 0 &&
	    request->tracing == HK__TRACING__TRACING_KEEP) {
		return 0; /* the request only asks for the rules in force */
	}
	if (job->state->closed) {
		return fail(-ENOENT, text, "job %.80s has ended", job->state->id);
	}
	hk__control_reply__init(ret_reply);
	int r = request->trigger ? fire(collector, job, ret_reply, text)
				 : change(collector, job, request, ret_reply, text);
	if (r < 0) {
		return r;
	}
	/* Saved at once, because a collector that dies before the next save would lose the change.
	 */
	r = hk_job_save(collector, job);
	return r < 0 ? fail(r, text, "in force, but not saved: %s", strerror(-r)) : 1;
}
