/* snapshot.h: one look at a job: what the collector, or its directory, says of it now.
 *
 * Calls are folded where the job is kept, by what the view that shows them needs, so that a job of
 * a thousand ranks takes some milliseconds. Errors are told on stderr as hk_job_open does. Made by
 * one thread at a time; a shot does not change any more once it is made.
 */
#ifndef HK_CLI_TUI_SNAPSHOT_H
#define HK_CLI_TUI_SNAPSHOT_H

#include "cli/job/job.h"
#include "report/build/group.h"

/* The calls that a row stands for: of what is set here. */
struct hk_pick {
	const char *role; /* NULL: none at all */
	const char *domain, *function, *library, *host;
	bool have_rank;
	int32_t rank;
};

/* A copy that owns its texts; fini frees. -ENOMEM. */
int hk_pick_copy(struct hk_pick *pick, const struct hk_pick *from);
void hk_pick_fini(struct hk_pick *pick);
bool hk_pick_is_same(const struct hk_pick *a, const struct hk_pick *b);

struct hk_top_snapshot_request {
	const char *job;     /* as hk_job_open */
	unsigned keys;	     /* HK_GROUP_*: what calls are folded by; 0: not at all, for JSON */
	struct hk_pick pick; /* of these calls the detail, folded by the next; role NULL: none */
	unsigned detail_keys;
};

struct hk_top_snapshot {
	struct hk_job job;
	struct hk_report *report;
	unsigned keys; /* of `calls`; 0: there are none */
	struct hk_groups calls;
	bool have_detail;
	struct hk_pick pick; /* of whom the detail is; owned */
	struct hk_groups detail;
	Hk__Snapshot *detail_snapshot; /* that its texts are of; NULL: they are the report's */
	bool older;		       /* its collector is too old to fold by these keys */
	uint64_t duration_ns, stored_bytes;
	double disk_free; /* share of the file system that the job is on; NAN: not to be seen */
};

enum hk_top_snapshot_state {
	HK_TOP_SNAPSHOT_LIVE,
	HK_TOP_SNAPSHOT_ENDED,
	HK_TOP_SNAPSHOT_LEFT, /* the job goes on, or nobody knows: no collector follows it */
};

enum hk_top_snapshot_state hk_top_snapshot_state(const struct hk_top_snapshot *shot);

/* Looks. HK_EXIT_DONE, or HK_EXIT_FAILED with a damaged job in *ret_picture, or another exit code
 * and NULL after a line on stderr. */
int hk_top_snapshot_take(const struct hk_top_snapshot_request *request,
			 struct hk_top_snapshot **ret_picture);

/* Frees; accepts NULL, returns NULL. */
struct hk_top_snapshot *hk_top_snapshot_free(struct hk_top_snapshot *shot);

#endif
