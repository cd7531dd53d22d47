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
static int ask_detail(struct hk_top_snapshot *shot, unsigned keys)
{
	const struct hk_pick *pick = &shot->pick;
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
	request.job = shot->job.snapshot->job->id;
	request.by_function = request.no_processes = true;
	request.fold_keys = keys;
	request.fold_only = &only;
	int r = hk_job_snapshot_request_as(shot->job.url, &request, &response);
	if (r == 0 && response->snapshot->fold_keys == keys) {
		r = hk_groups_of_functions(&shot->detail, response->snapshot, shot->report);
		/* The texts of the groups are the response's. */
		shot->detail_snapshot = response->snapshot;
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

static int take_detail(struct hk_top_snapshot *shot, const struct hk_top_snapshot_request *request)
{
	int r = hk_pick_copy(&shot->pick, &request->pick);

	if (r == 0 && shot->job.snapshot->folded) {
		r = ask_detail(shot, request->detail_keys);
	} else if (r == 0) {
		r = hk_groups_init(&shot->detail, shot->report,
				   request->detail_keys | keys_of(&shot->pick));
		pick_groups(&shot->detail, &shot->pick);
	}
	shot->have_detail = r == 0;
	return r == -ENOMEM ? r : 0; /* without the detail if it is not available */
}

/* ---- the whole ---- */

static int take_calls(struct hk_top_snapshot *shot, unsigned keys)
{
	const Hk__Snapshot *snapshot = shot->job.snapshot;

	if (snapshot->folded &&
	    (snapshot->fold_keys ? snapshot->fold_keys : HK_GROUP_FUNCTION) != keys) {
		shot->older = true;
		return 0;
	}
	int r = snapshot->folded ? hk_groups_of_functions(&shot->calls, snapshot, shot->report)
				 : hk_groups_init(&shot->calls, shot->report, keys);
	shot->keys = r == 0 ? keys : 0;
	return r;
}

static void take_disk(struct hk_top_snapshot *shot)
{
	struct statvfs disk;
	const struct hk_job *job = &shot->job;

	shot->stored_bytes = job->snapshot->job->stored_bytes;
	shot->disk_free = NAN;
	if (job->live && !job->elsewhere && statvfs(job->directory, &disk) == 0 &&
	    disk.f_blocks > 0) {
		shot->disk_free = (double)disk.f_bavail / (double)disk.f_blocks;
	}
}

static int fill(struct hk_top_snapshot *shot, const struct hk_top_snapshot_request *request)
{
	int r = hk_report_new(shot->job.snapshot, &shot->report);

	if (r < 0) {
		return r;
	}
	shot->duration_ns = shot->report->job.duration_ns;
	take_disk(shot);
	if (request->keys != 0) {
		r = take_calls(shot, request->keys);
	}
	if (r == 0 && request->pick.role && !shot->older) {
		r = take_detail(shot, request);
	}
	return r;
}

int hk_top_snapshot_take(const struct hk_top_snapshot_request *request,
			 struct hk_top_snapshot **ret_shot)
{
	struct hk_top_snapshot *shot = calloc(1, sizeof(*shot));

	*ret_shot = NULL;
	if (!shot) {
		hk_error("cannot show the job: %s", strerror(ENOMEM));
		return HK_EXIT_FAILED;
	}
	hk_job_snapshot_rollup(request->keys);
	int code = hk_job_open(request->job, &shot->job);
	if (code != HK_EXIT_DONE) {
		free(shot);
		return code;
	}
	int r = fill(shot, request);
	if (r < 0) {
		hk_error("cannot show the job: %s", strerror(-r));
		hk_top_snapshot_free(shot);
		return HK_EXIT_FAILED;
	}
	*ret_shot = shot;
	return shot->job.damaged ? HK_EXIT_FAILED : HK_EXIT_DONE;
}

struct hk_top_snapshot *hk_top_snapshot_free(struct hk_top_snapshot *shot)
{
	if (shot) {
		hk_groups_fini(&shot->calls);
		hk_groups_fini(&shot->detail);
		if (shot->detail_snapshot) {
			hk__snapshot__free_unpacked(shot->detail_snapshot, NULL);
		}
		hk_pick_fini(&shot->pick);
		shot->report = hk_report_free(shot->report);
		hk_job_close(&shot->job);
		free(shot);
	}
	return NULL;
}

enum hk_top_snapshot_state hk_top_snapshot_state(const struct hk_top_snapshot *shot)
{
	if (shot->job.snapshot->job->closed) {
		return HK_TOP_SNAPSHOT_ENDED;
	}
	return shot->job.live ? HK_TOP_SNAPSHOT_LIVE : HK_TOP_SNAPSHOT_LEFT;
}
