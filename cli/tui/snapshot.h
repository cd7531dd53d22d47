/* snapshot.h: the state of a job at one moment, from its collector or its directory. The collector
 * folds calls as the view needs them, so that a job of a thousand ranks takes some milliseconds.
 * Errors are printed to stderr as by hk_job_open. Made by one thread at a time; immutable once
 * made. */
#ifndef HK_CLI_TUI_SNAPSHOT_H
#define HK_CLI_TUI_SNAPSHOT_H

#include "cli/job/job.h"
#include "report/build/group.h"

/* Selects the calls of a row by the fields that are set. */
struct hk_pick {
	const char *role; /* NULL: no calls */
	const char *domain, *function, *library, *host;
	bool have_rank;
	int32_t rank;
};

/* Makes a copy that owns its texts; fini frees it. Returns 0 or -ENOMEM. */
int hk_pick_copy(struct hk_pick *pick, const struct hk_pick *from);
void hk_pick_fini(struct hk_pick *pick);
bool hk_pick_is_same(const struct hk_pick *a, const struct hk_pick *b);

struct hk_top_snapshot_request {
	const char *job; /* as hk_job_open */
	unsigned keys;	 /* HK_GROUP_*: keys by which calls are folded; 0: not folded, for JSON */
	struct hk_pick pick; /* also fold these calls by the keys below; role NULL: none */
	unsigned detail_keys;
};

struct hk_top_snapshot {
	struct hk_job job;
	struct hk_report *report;
	unsigned keys; /* keys of `calls`; 0: no calls */
	struct hk_groups calls;
	bool have_detail;
	struct hk_pick pick; /* the calls of the detail; owned */
	struct hk_groups detail;
	Hk__Snapshot *detail_snapshot; /* owner of the detail's texts; NULL: the report */
	bool older;		       /* its collector is too old to fold by these keys */
	uint64_t duration_ns, stored_bytes;
	double disk_free; /* free share of the job's file system; NAN: unknown */
};

enum hk_top_snapshot_state {
	HK_TOP_SNAPSHOT_LIVE,
	HK_TOP_SNAPSHOT_ENDED,
	HK_TOP_SNAPSHOT_LEFT, /* the job runs without a collector, or its state is unknown */
};

enum hk_top_snapshot_state hk_top_snapshot_state(const struct hk_top_snapshot *snapshot);

/* Takes a snapshot. Returns HK_EXIT_DONE, HK_EXIT_FAILED with a damaged job in *ret_snapshot, or
 * another exit code and NULL after a line on stderr. */
int hk_top_snapshot_take(const struct hk_top_snapshot_request *request,
			 struct hk_top_snapshot **ret_snapshot);

/* Frees SNAPSHOT. Accepts NULL, returns NULL. */
struct hk_top_snapshot *hk_top_snapshot_free(struct hk_top_snapshot *snapshot);

#endif
