#include "cli/tui/snapshot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/job_open.h"
#include "cli/job/job_snapshot.h"
#include "report/build/build.h"
#include "report/model/numbers.h"
#include "report/model/role.h"

/* ---- picks ---- */

static void copy(const char **to, const char *from, bool *failed)
{
	*to = from ? strdup(from) : NULL;
	*failed |= from && !*to;
}

int hk_pick_copy(struct hk_pick *pick, const struct hk_pick *from)
{
	bool failed = false;

	*pick = *from;
	copy(&pick->role, from->role, &failed);
	copy(&pick->domain, from->domain, &failed);
	copy(&pick->function, from->function, &failed);
	copy(&pick->library, from->library, &failed);
	copy(&pick->host, from->host, &failed);
	if (failed) {
		hk_pick_fini(pick);
	}
	return failed ? -ENOMEM : 0;
}

void hk_pick_fini(struct hk_pick *pick)
{
	free((void *)(uintptr_t)pick->role);
	free((void *)(uintptr_t)pick->domain);
	free((void *)(uintptr_t)pick->function);
	free((void *)(uintptr_t)pick->library);
	free((void *)(uintptr_t)pick->host);
	*pick = (struct hk_pick){.role = NULL};
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool hk_pick_is_same(const struct hk_pick *a, const struct hk_pick *b)
{
	return is_same(a->role, b->role) && is_same(a->domain, b->domain) &&
	       is_same(a->function, b->function) && is_same(a->library, b->library) &&
	       is_same(a->host, b->host) && a->have_rank == b->have_rank && a->rank == b->rank;
}

static bool is_picked(const char *wanted, const char *text)
{
	return !wanted || is_same(wanted, text);
}

/* ---- the detail ---- */

static Hk__Role role_of(const char *name)
{
	for (int role = HK__ROLE__ROLE_UNKNOWN; role <= HK__ROLE__ROLE_LAUNCHER; role++) {
		if (strcmp(hk_report_role_name((Hk__Role)role), name) == 0) {
			return (Hk__Role)role;
		}
	}
	return HK__ROLE__ROLE_UNKNOWN;
}

static char *text_of(const char *text)
{
	return (char *)(uintptr_t)(text ? text : "");
}

/* Asks the collector only for the calls of PICK. */
static int ask_detail(struct hk_top_snapshot *snapshot, unsigned keys)
{
	const struct hk_pick *pick = &snapshot->pick;
	Hk__SnapshotRequest request = HK__SNAPSHOT_REQUEST__INIT;
	Hk__Function only = HK__FUNCTION__INIT;
	Hk__Response *response = NULL;

	only.role = role_of(pick->role);
	only.domain = text_of(pick->domain);
	only.function = text_of(pick->function);
	only.library = text_of(pick->library);
	only.host = text_of(pick->host);
	only.have_rank = pick->have_rank;
	only.rank = pick->rank;
	request.job = snapshot->job.snapshot->job->id;
	request.by_function = request.no_processes = true;
	request.fold_keys = keys;
	request.fold_only = &only;
	int r = hk_job_snapshot_request_as(snapshot->job.url, &request, &response);
	if (r == 0 && response->snapshot->fold_keys == keys) {
		r = hk_groups_of_functions(&snapshot->detail, response->snapshot, snapshot->report);
		/* The texts of the groups are the response's. */
		snapshot->detail_snapshot = response->snapshot;
		response->snapshot = NULL;
	}
	if (response) {
		hk__response__free_unpacked(response, NULL);
	}
	return r;
}

/* Keeps the groups that match PICK. */
static void pick_groups(struct hk_groups *groups, const struct hk_pick *pick)
{
	size_t kept = 0;

	for (size_t i = 0; i < groups->count; i++) {
		struct hk_group *group = &groups->groups[i];
		if (is_same(pick->role, group->role) && is_picked(pick->domain, group->domain) &&
		    is_picked(pick->function, group->function) &&
		    is_picked(pick->library, group->library) &&
		    is_picked(pick->host, group->host) &&
		    (!pick->have_rank || pick->rank == group->rank)) {
			struct hk_group last = groups->groups[kept];
			groups->groups[kept++] = *group;
			*group = last;
		}
	}
	for (size_t i = kept; i < groups->count; i++) {
		hk_report_numbers_fini(&groups->groups[i].numbers);
	}
	groups->count = kept;
}

static unsigned keys_of(const struct hk_pick *pick)
{
	return (pick->function ? HK_GROUP_FUNCTION : 0) | (pick->library ? HK_GROUP_LIBRARY : 0) |
	       (pick->host ? HK_GROUP_HOST : 0) | (pick->have_rank ? HK_GROUP_RANK : 0);
}

static int take_detail(struct hk_top_snapshot *snapshot,
		       const struct hk_top_snapshot_request *request)
{
	int r = hk_pick_copy(&snapshot->pick, &request->pick);

	if (r == 0 && snapshot->job.snapshot->folded) {
		r = ask_detail(snapshot, request->detail_keys);
	} else if (r == 0) {
		r = hk_groups_init(&snapshot->detail, snapshot->report,
				   request->detail_keys | keys_of(&snapshot->pick));
		pick_groups(&snapshot->detail, &snapshot->pick);
	}
	snapshot->have_detail = r == 0;
	return r == -ENOMEM ? r : 0; /* without the detail if it is not available */
}

/* ---- the whole ---- */

static int take_calls(struct hk_top_snapshot *snapshot, unsigned keys)
{
	const Hk__Snapshot *message = snapshot->job.snapshot;

	if (message->folded &&
	    (message->fold_keys ? message->fold_keys : HK_GROUP_FUNCTION) != keys) {
		snapshot->older = true;
		return 0;
	}
	int r = message->folded
		    ? hk_groups_of_functions(&snapshot->calls, message, snapshot->report)
		    : hk_groups_init(&snapshot->calls, snapshot->report, keys);
	snapshot->keys = r == 0 ? keys : 0;
	return r;
}

static void take_disk(struct hk_top_snapshot *snapshot)
{
	struct statvfs disk;
	const struct hk_job *job = &snapshot->job;

	snapshot->stored_bytes = job->snapshot->job->stored_bytes;
	snapshot->disk_free = NAN;
	if (job->live && !job->elsewhere && statvfs(job->directory, &disk) == 0 &&
	    disk.f_blocks > 0) {
		snapshot->disk_free = (double)disk.f_bavail / (double)disk.f_blocks;
	}
}

static int fill(struct hk_top_snapshot *snapshot, const struct hk_top_snapshot_request *request)
{
	int r = hk_report_new(snapshot->job.snapshot, &snapshot->report);

	if (r < 0) {
		return r;
	}
	snapshot->duration_ns = snapshot->report->job.duration_ns;
	take_disk(snapshot);
	if (request->keys != 0) {
		r = take_calls(snapshot, request->keys);
	}
	if (r == 0 && request->pick.role && !snapshot->older) {
		r = take_detail(snapshot, request);
	}
	return r;
}

int hk_top_snapshot_take(const struct hk_top_snapshot_request *request,
			 struct hk_top_snapshot **ret_snapshot)
{
	struct hk_top_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	*ret_snapshot = NULL;
	if (!snapshot) {
		hk_error("cannot show the job: %s", strerror(ENOMEM));
		return HK_EXIT_FAILED;
	}
	hk_job_snapshot_rollup(request->keys);
	int code = hk_job_open(request->job, &snapshot->job);
	if (code != HK_EXIT_DONE) {
		free(snapshot);
		return code;
	}
	int r = fill(snapshot, request);
	if (r < 0) {
		hk_error("cannot show the job: %s", strerror(-r));
		hk_top_snapshot_free(snapshot);
		return HK_EXIT_FAILED;
	}
	*ret_snapshot = snapshot;
	return snapshot->job.damaged ? HK_EXIT_FAILED : HK_EXIT_DONE;
}

struct hk_top_snapshot *hk_top_snapshot_free(struct hk_top_snapshot *snapshot)
{
	if (snapshot) {
		hk_groups_fini(&snapshot->calls);
		hk_groups_fini(&snapshot->detail);
		if (snapshot->detail_snapshot) {
			hk__snapshot__free_unpacked(snapshot->detail_snapshot, NULL);
		}
		hk_pick_fini(&snapshot->pick);
		snapshot->report = hk_report_free(snapshot->report);
		hk_job_close(&snapshot->job);
		free(snapshot);
	}
	return NULL;
}

enum hk_top_snapshot_state hk_top_snapshot_state(const struct hk_top_snapshot *snapshot)
{
	if (snapshot->job.snapshot->job->closed) {
		return HK_TOP_SNAPSHOT_ENDED;
	}
	return snapshot->job.live ? HK_TOP_SNAPSHOT_LIVE : HK_TOP_SNAPSHOT_LEFT;
}
