/* report.h: a snapshot of a job turned into the rows that every view shows.
 *
 * Rows are summed over the processes of one rank and role; quantiles come from their merged
 * histograms. Times are nanoseconds since the job's start. A value that no level measured is
 * "unmeasured": JSON null, "-" in text. The input may hold anything (it comes from files and
 * sockets); what makes no sense is left out. A report is immutable once made and owns all its
 * memory, so the snapshot may be freed at once; any number of threads may read one.
 */
#ifndef HK_REPORT_MODEL_REPORT_H
#define HK_REPORT_MODEL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/strings.h"
#include "schema/wire.pb-c.h"

/* How a process or a job ended. */
struct hk_report_exit {
	/* "running", "exited", "exec", "signal", "oom", "vanished", "silent": it ran when its node
	 * was last heard; static */
	const char *kind;
	bool have_code;
	int32_t code; /* exit status or signal number */
};

struct hk_report_job {
	const char *id, *name, *command, *directory, *exit;
	const char *store_error; /* why records were not stored, the last time; empty: all were */
	uint64_t start_unix_ns;
	uint64_t duration_ns;
	int32_t world_size;
	uint64_t tracing_cost_ns; /* estimate, summed over processes */
	uint64_t calls_untracked; /* calls that found no room: the only ones not in the rows */
	uint64_t calls_untimed;	  /* of those in the rows, calls not timed for want of room */
	uint64_t records, lost_records;
	uint64_t shed_records;	 /* of records: evicted since, older than what --keep leaves */
	size_t nodes;		 /* with a collector each */
	bool clocks_known;	 /* how wrong times of different nodes may be against each other: */
	uint64_t clock_error_ns; /* by no more than twice this */
	/* sync=all calls of several nodes that were looked at, and those that the clocks
	 * contradict. */
	uint64_t sync_checks, sync_violations;
	bool store_full; /* no record is stored until there is room */
	bool closed;
};

/* The clock of a process's node against the root's; all 0 on the root itself. */
struct hk_report_node_clock {
	bool known;	   /* else times of this node are by its realtime clock */
	int64_t offset_ns; /* root's monotonic clock less the node's, when the process started */
	int64_t drift_ppb; /* root's seconds per node's, less 1, in 1e-9: from start to end */
	uint64_t error_ns; /* no time is wrong by more: the bound */
	uint64_t fit_error_ns; /* 99 % are wrong by less if both directions took as long */
};

/* A rank as its main process shows it. */
struct hk_report_rank {
	int32_t rank;
	const char *host;
	uint32_t pid;
	int64_t start_ns;
	int64_t end_ns; /* of a running rank: when it was last looked at */
	bool running;
	uint64_t cpu_ns, rss_peak_bytes;
	struct hk_report_exit exit;
	uint64_t records, lost_records; /* helpers included */
	uint64_t shed_records;	  /* of records: evicted since, older than what --keep leaves */
	uint64_t tracing_cost_ns; /* estimate, helpers included */
	struct hk_report_node_clock clock;
};

#define HK_REPORT_REFUSALS 16

struct hk_report_process {
	int32_t rank;
	uint32_t pid;
	const char *role; /* "main", "helper", "launcher"; static */
	const char *command, *host, *note, *hooks;
	struct hk_report_exit exit;
	const char *agent; /* "on", "off", "incompatible"; static */
	int64_t start_ns, end_ns;
	bool running;
	struct hk_report_node_clock clock;
	uint64_t calls_untracked, calls_untimed, records, lost_records, shed_records;
	uint64_t calls, errors;
	uint64_t inside_ns;	  /* in calls that are no idle waits, over all threads; */
	bool have_inside;	  /* whether that is measured */
	const char *most;	  /* function with most of it; "": none, or not known */
	uint64_t tracing_cost_ns; /* estimate */
	uint32_t objects, objects_pending, objects_hidden, namespaces_hidden;
	uint32_t slots_found, slots_patched, slots_refused;
	uint32_t refused[HK_REPORT_REFUSALS]; /* slots, by enum hk_refusal of ring/segment.h */
	uint32_t sites_untimed;		      /* of its sites, calls are counted only */
	uint32_t symbols_escaped;	      /* addresses handed out without a hook */
	uint32_t hooks_in_force;
	const char *coverage; /* what coverage lacks, "; " between; empty: nothing to tell */
};

/* Latency counts, ascending buckets of sketch/histogram.h. */
struct hk_report_buckets {
	uint32_t *index;
	uint64_t *count;
	size_t used;
};

/* The numbers of one row, whatever it sums over. */
struct hk_report_numbers {
	uint64_t calls, errors;
	uint64_t timed;	     /* calls whose latency is known */
	uint64_t weight;     /* calls that those stand for, which the buckets count */
	uint64_t latency_ns; /* sum over the calls in `weight` */
	uint64_t total_ns, self_ns, outermost_ns;
	uint64_t bytes;
	uint64_t min_ns, max_ns, mean_ns, p50_ns, p90_ns, p99_ns;
	bool have_total;   /* total, self and outermost are measured */
	bool have_bytes;   /* bytes are */
	bool have_latency; /* minimum, mean, quantiles and maximum are */
	bool estimated;	   /* scaled up from samples */
	struct hk_report_buckets buckets;
};

struct hk_report_call {
	int32_t rank;
	const char *role;
	const char *host, *domain, *function, *library;
	uint32_t flags; /* HK_HOOK_* */
	struct hk_report_numbers numbers;
};

struct hk_report_memory {
	int32_t rank, device; /* device -1: the host, or unknown */
	const char *role;
	const char *kind; /* "heap", "map", "device", "managed", "pinned" */
	const char *library;
	uint64_t allocs, frees, live_bytes, peak_bytes, peak_low, peak_high;
	int64_t peak_time_ns;
	/* Live at the instant of the peak of "*" of this rank, role, device and kind; where these
	 * are several processes, in the one whose peak that is. */
	uint64_t at_peak_bytes;
	bool have_at_peak; /* jobs of older versions have none */
};

/* Live bytes of one process over time, of one device and kind and all its libraries. Peaks are
 * exact: the highest bin is the process's peak. Processes of one rank have a series each: which of
 * their instants met is not known within a bin. */
struct hk_report_memory_series {
	int32_t rank, device; /* device -1: the host, or unknown */
	const char *role;
	uint32_t pid;
	const char *kind;
	int64_t start_ns;     /* of the first bin */
	uint64_t width_ns;    /* of every bin, not 0 */
	int64_t end_ns;	      /* of what is known of the process: until then the last value holds */
	size_t count;	      /* bins, from 1 to HK_REPORT_SERIES_BINS */
	uint64_t *max_bytes;  /* most in a bin, what it began with included */
	uint64_t *last_bytes; /* at its end */
};
#define HK_REPORT_SERIES_BINS 256u

/* How much one main process did of one thing, over time: ns in outermost calls of a domain, calls,
 * ns on a processor. Processes of one rank that followed each other have a row each. */
struct hk_report_activity {
	int32_t rank;
	Hk__ActivityKind kind; /* PROTOCOL.md, section 4 */
	const char *domain;    /* of kind DOMAIN, else empty */
	double start_ns;       /* of the first bin, since the job's start */
	double width_ns;       /* of every bin, not 0 */
	double end_ns;	       /* of what is known of the process */
	size_t count;	       /* bins, from 1 to HK_REPORT_SERIES_BINS */
	double *sum;	       /* of all bins up to this one, it included */
};

struct hk_report_open_call {
	int32_t rank;
	const char *role;
	uint32_t thread; /* kernel thread id */
	const char *thread_name;
	uint32_t depth; /* 1: outermost */
	const char *function, *library;
	uint64_t open_ns;
	/* A launcher's, or a thread besides the first of its process waits for events or other
	 * threads: that is how these live, and no hang. */
	bool idle;
};

/* A level that the governor changed, or, where from = to, one that costs more than the budget and
 * is not the governor's to change. */
struct hk_report_step {
	int32_t rank;
	const char *role;
	const char *pattern;   /* library:function as defined */
	const char *from, *to; /* levels; static */
	bool pinned;
	int64_t time_ns;
};

/* A node that brings its part of the job to the collector that keeps it. */
struct hk_report_node {
	const char *host;
	const char *state;	  /* "connected", "silent", "complete": all of it is here; static */
	uint32_t processes, live; /* none of a silent one is known to be alive */
	uint64_t unsent_bytes;	  /* of records, when it was last heard */
	uint64_t shed_records;
	uint64_t seen_unix_ns;		       /* 0: unknown */
	uint64_t sync_checks, sync_violations; /* sync=all calls with other nodes */
};

struct hk_report {
	struct hk_report_job job;
	bool folded; /* the snapshot was (rollup.h): there are no calls, and nothing is said of them
		      */
	struct hk_report_rank *ranks; /* by rank */
	size_t rank_count;
	struct hk_report_process *processes; /* by rank, then start */
	size_t process_count;
	struct hk_report_call *calls; /* by rank, then total, largest first */
	size_t call_count;
	struct hk_report_memory *memory; /* by rank, device, kind; library "*" first */
	size_t memory_count;
	/* By rank, role (main first), device, kind, start; none if the snapshot was taken without,
	 * or by an older version. */
	struct hk_report_memory_series *memory_series;
	size_t memory_series_count;
	/* By rank, kind, domain, start; none if the snapshot was taken without, or by an older
	 * version. */
	struct hk_report_activity *activity;
	size_t activity_count;
	struct hk_report_open_call *open_calls; /* by rank, thread, depth */
	size_t open_call_count;
	struct hk_report_step *steps; /* by rank, then time */
	size_t step_count;
	struct hk_report_node *nodes; /* in the order they came; none without a root */
	size_t node_count;
	struct hk_report_strings strings; /* owns the texts */
};

#endif
