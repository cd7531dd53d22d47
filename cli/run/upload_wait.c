#include "cli/run/upload_wait.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/run/job_paths.h"
#include "cli/run/session.h"
#include "text/quantity.h"

#define SECOND_NS UINT64_C(1000000000)
#define WAIT_NS (20 * SECOND_NS)
#define FAILED_NS (SECOND_NS / 5) /* a launcher sends SIGKILL a second after SIGTERM */
#define POLL_NS 10000000
#define AWAY_POLLS                                                                             \
	300 /* polls without a connection; polls, not time: a starved hookcli must not give up \
	       early */
#define ASK_TIMEOUT_MS 2000
#define URL_BYTES 512

struct progress {
	char url[URL_BYTES]; /* URL of the root */
	uint64_t bytes;	     /* bytes of records that the root does not have */
	char problem[256];   /* reason why it is not connected; "": unknown */
	bool complete, connected;
};

/* Asks the collector for its progress. Returns 0, or -errno with *RET_PROGRESS unchanged. */
static int poll_progress(const struct hk_session *session, struct progress *ret_progress)
{
	Hk__StatusRequest what = HK__STATUS_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	request.version = (char *)HK_VERSION;
	request.what_case = HK__REQUEST__WHAT_STATUS;
	request.status = &what;
	int r = hk_request_call(session->url, &request, ASK_TIMEOUT_MS, &response);
	if (r < 0) {
		return r;
	}
	const Hk__Uplink *uplink = response->status ? response->status->uplink : NULL;
	if (uplink) {
		snprintf(ret_progress->url, sizeof(ret_progress->url), "%s", uplink->url);
		ret_progress->bytes = uplink->unsent_bytes;
		ret_progress->complete = uplink->unsent_jobs == 0;
		ret_progress->connected = uplink->connected;
		snprintf(ret_progress->problem, sizeof(ret_progress->problem), "%s",
			 uplink->problem);
	}
	hk__response__free_unpacked(response, NULL);
	return uplink ? 0 : -EBADMSG;
}

static void tell(const struct hk_session *session, const struct progress *progress)
{
	char size[HK_QUANTITY_BYTES];

	if (!progress->connected && *progress->problem) {
		hk_warning("no connection to the root: %s", progress->problem);
	}
	hk_warning("the root at %s %s: %s of records wait in %s; they are brought while it "
		   "answers, later by: HOOK_RUN_DIR=%s hookcollector --upstream %s",
		   progress->url, progress->connected ? "has not got all yet" : "does not answer",
		   hk_quantity_bytes(size, progress->bytes), session->directory,
		   session->run_directory, progress->url);
}

bool hk_upload_await(const struct hk_session *session, int status)
{
	const struct timespec pause = {0, POLL_NS};
	const uint64_t begin = hk_clock_monotonic_ns();
	const uint64_t limit = status != 0 && session->inside ? FAILED_NS : WAIT_NS;
	const char *upstream = hk_command_setting("upstream");
	struct progress progress = {.connected = true};
	uint64_t spent = 0;
	unsigned away = 0;
	int r = 0;

	snprintf(progress.url, sizeof(progress.url), "%s", upstream ? upstream : "");
	while (spent < limit && away < AWAY_POLLS && r != -ECONNREFUSED) {
		r = poll_progress(session, &progress);
		spent = hk_clock_monotonic_ns() - begin;
		if (r == 0 && progress.complete) {
			return true;
		}
		/* A poll without an answer does not show that the root is unreachable. */
		if (r == 0) {
			away = progress.connected || !*progress.problem ? 0 : away + 1;
		}
		nanosleep(&pause, NULL);
	}
	/* A collector that cannot be reached has sent everything and ended, or was killed. */
	bool brought = r == -ECONNREFUSED && !hk_job_paths_has_unsent(session->dirfd);
	if (!brought) {
		tell(session, &progress);
	}
	return brought;
}
