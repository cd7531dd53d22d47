/* aggregate.h: turns the statistics of a job into rows for export: one per rank, per rank and
 * domain, and so on.
 *
 * Rows are made at the finest scope, and summed to coarser ones if there are too many. Their texts
 * are printable UTF-8 of bounded length (text/name.h), so two names that print alike are one row.
 * An aggregate owns all its texts and may outlive the job's processes. Locked by the caller.
 */
#ifndef HK_COLLECTOR_METRICS_AGGREGATE_H
#define HK_COLLECTOR_METRICS_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "collector/metrics/exposition.h"
#include "collector/metrics/table.h"
#include "schema/wire.pb-c.h"

/* Kinds of rows, in the order of a page. */
enum hk_aggregate_kind {
	HK_AGGREGATE_JOB = 0,
	HK_AGGREGATE_INFO,
	HK_AGGREGATE_PROCESS,
	HK_AGGREGATE_MEMORY,
	HK_AGGREGATE_DOMAIN,
	HK_AGGREGATE_DURATION,
	HK_AGGREGATE_FUNCTION,
	HK_AGGREGATE_KINDS,
};

/* Which labels distinguish the rows. */
enum hk_aggregate_scope {
	HK_SCOPE_JOB = 0, /* neither rank nor node */
	HK_SCOPE_NODE,
	HK_SCOPE_RANK,
	HK_SCOPES,
};

/* Bounds of durations: 2^7 ns (128 ns), each twice the one before, to 2^34 ns (17 s); then all.
 * They are edges of the agent's buckets, so the counts are exact. A duration that equals a bound
 * counts as above it. */
#define HK_AGGREGATE_BOUND_FIRST 7u
#define HK_AGGREGATE_BOUNDS 28u

enum hk_metric_rollup { HK_FOLD_SUM = 0, HK_FOLD_MAX };

struct hk_metric {
	const char *name;
	enum hk_metric_type type;
	enum hk_metric_unit unit;
	enum hk_metric_rollup fold;
	const char *label;
	const char *help;
};

/* Of a kind of rows. */
struct hk_aggregate_layout {
	const struct hk_metric *metrics;
	uint32_t metric_count;
	uint32_t values; /* values of a row; for durations: counts by bucket, not cumulative, then
			    the sum */
	const char *label[2]; /* names of the row's own labels; NULL: none */
};
extern const struct hk_aggregate_layout hk_aggregate_layouts[HK_AGGREGATE_KINDS];

#define HK_AGGREGATE_UNKNOWN UINT64_MAX /* the value is unknown */

struct hk_aggregate_row {
	UT_hash_handle hh;
	int32_t rank;	  /* -1: none */
	const char *node; /* these four: "" where there is none */
	const char *role;
	const char *label[2];
	bool left_out; /* not to be shown; set by metrics/walk.c */
	uint64_t *value;
};

struct hk_aggregate {
	struct hk_aggregate_row *rows[HK_AGGREGATE_KINDS]; /* in order of coming */
};

/* Adds what SNAPSHOT says. SCOPE: no finer. -ENOMEM. */
int hk_aggregate_add(struct hk_aggregate *aggregate, const Hk__Snapshot *snapshot,
		     enum hk_aggregate_scope scope);

/* Adds the rows of FROM whose kind is from FIRST to LAST, at SCOPE. Returns 0 or -ENOMEM. */
int hk_aggregate_rollup(struct hk_aggregate *aggregate, const struct hk_aggregate *from,
			enum hk_aggregate_kind first, enum hk_aggregate_kind last,
			enum hk_aggregate_scope scope);

/* Frees all rows; a zeroed one is allowed. */
void hk_aggregate_fini(struct hk_aggregate *aggregate);

/* The number of rows of a kind, and of series of a row. Unknown values leave series out. */
uint32_t hk_aggregate_rows(const struct hk_aggregate *aggregate, enum hk_aggregate_kind kind);
uint32_t hk_aggregate_series(enum hk_aggregate_kind kind);

#endif
