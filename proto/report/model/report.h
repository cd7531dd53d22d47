/* report.h: a snapshot of a job turned into the rows that every view shows.
 *
 * Calls and memory are summed over the processes of one rank and role. Quantiles come from the
 * merged histograms. Times are nanoseconds since the job's start. A value that no level measured is
 * "unmeasured": null in JSON, "-" in text.
 *
 * A snapshot comes from a file or a socket and may hold anything: invalid parts are left out. A
 * report does not change once it is made and owns all its memory. The snapshot may therefore be
 * freed at once, and any number of threads may read a report.
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
	/* "running", "exited", "exec", "signal", "oom", "vanished", "detached": it ran on without
	 * tracing, or "silent": it ran when its node was last heard. Static. */
	const char *kind;
	bool have_code;
	int32_t code; /* exit status or signal number */
};

struct hk_report_job {
	const char *id, *name, *command, *directory, *exit;
	const char
	    *store_error; /* last reason why records were not stored; empty: all were stored */
	uint64_t start_unix_ns;
	uint64_t duration_ns;
	int32_t world_size;
	uint64_t tracing_cost_ns; /* estimate, summed over processes */
	uint64_t
	    calls_untracked; /* calls without room in a segment; only these are not in the rows */
	uint64_t calls_untimed; /* calls in the rows that were not timed for lack of room */
	uint64_t records, lost_records;
	uint64_t shed_records; /* those of `records` that retention (--keep) evicted */
	size_t nodes;	       /* machines of the job, each with a collector */
	bool clocks_known;     /* clock_error_ns is known */
	/* Upper limit of a node's error against the root; two nodes differ by at most twice this.
	 */
	uint64_t clock_error_ns;
	/* sync=all calls over several nodes that were checked, and those of them that contradict
	 * the clocks. */
	uint64_t sync_checks, sync_violations;
	/* The store is full and the job runs: no record is stored until there is room. */
	bool store_full;
	bool closed;
};

/* The clock of a process's node against the root's; all 0 on the root itself. */
struct hk_report_node_clock {
	bool
	    known; /* false: the node's times come from its realtime clock, with an unknown error */
	int64_t offset_ns; /* root's monotonic clock minus the node's, when the process started */
	/* Root's seconds per node's second, minus 1, in 1e-9: mean over the process's life, or the
	 * map's last value if that is shorter than 1 s. */
	int64_t drift_ppb;
	uint64_t error_ns; /* upper limit of the error of all times */
	/* 99 % of times are wrong by less, if messages took equally long in both directions. */
	uint64_t fit_error_ns;
};

/* A rank: its main processes, one after the other. Host, pid, exit and the clock's offset are those
 * of the last one. */
struct hk_report_rank {
	int32_t rank;
	const char *host;
	uint32_t pid;
	int64_t start_ns;
	int64_t end_ns; /* end of the last process; of a running rank: its last sample */
	bool running;
	/* Time since calls that returned last took more than 1/2000 of the time, without calls that
	 * only wait; 0: unknown. */
	uint64_t quiet_ns;
	uint64_t cpu_ns, rss_peak_bytes;
	uint64_t memory_limit_bytes; /* of its control group; 0: none, or unknown */
	struct hk_report_exit exit;
	uint64_t records, lost_records; /* of helpers too */
	uint64_t shed_records;		/* those of `records` that retention (--keep) evicted */
	uint64_t tracing_cost_ns;	/* estimate, helpers included */
	struct hk_report_node_clock clock;
};

#define HK_REPORT_REFUSALS 16

/* Where a process's device time comes from. */
struct hk_report_device_time {
	bool known;	     /* device time was wanted, and a call of a device's API was made */
	const char *state;   /* "on", "shared", ...; static */
	const char *note;    /* why there is none, and what to do; NULL: there is; static */
	const char *library; /* "CUPTI" or "MSPTI"; static */
	uint32_t version;
	int32_t status; /* last result of the library that was a failure */
	uint64_t activities, dropped, unlinked, skipped;
	uint32_t yields;
};

/* A TCP connection of a rank's process that nothing gets through. Texts belong to the report, which
 * has each text once. */
struct hk_report_connection {
	int32_t rank;
	const char *local, *peer; /* addresses */
	uint32_t retries;	  /* how often the data was sent again */
	uint64_t unanswered;	  /* bytes */
};

/* A rank's own end of connections to other hosts. */
struct hk_report_address {
	int32_t rank;
	const char *host, *address;
};

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
	uint64_t inside_ns;	  /* in calls other than idle waits, over all threads */
	bool have_inside;	  /* inside_ns is measured */
	const char *most;	  /* function with the most of inside_ns; "": none, or unknown */
	uint64_t tracing_cost_ns; /* estimate */
	uint32_t objects, objects_pending, objects_hidden, namespaces_hidden;
	uint32_t slots_found, slots_patched, slots_refused;
	uint32_t refused[HK_REPORT_REFUSALS]; /* slots, by enum hk_refusal of ring/segment.h */
	uint32_t sites_untimed;		      /* sites whose calls are counted but not timed */
	/* Hooked functions whose address the program looked up and got without a hook. */
	uint32_t symbols_escaped;
	uint32_t hooks_in_force;
	struct hk_report_device_time device_time;
	uint64_t quiet_ns;    /* 0: unknown */
	const char *coverage; /* what the agent did not reach, separated by "; "; empty: complete */
};

/* Latency counts, ascending buckets of sketch/histogram.h. */
struct hk_report_buckets {
	uint32_t *index;
	uint64_t *count;
	size_t used;
};

/* The numbers of one row, of one or more call sites. */
struct hk_report_numbers {
	uint64_t calls, errors;
	uint64_t timed;	     /* calls whose latency is known */
	uint64_t weight;     /* calls that the timed ones stand for; the buckets count these */
	uint64_t latency_ns; /* sum over the calls in `weight` */
	uint64_t total_ns, self_ns, outermost_ns;
	uint64_t inner_calls; /* inside of another call of the domain, as far as calls are timed */
	uint64_t bytes;
	uint64_t device_ns; /* on devices: of an activity its own, of a call of what it submitted */
	uint64_t min_ns, max_ns, mean_ns, p50_ns, p90_ns, p99_ns;
	bool have_total;   /* total_ns, self_ns and outermost_ns are measured */
	bool have_bytes;   /* bytes is measured */
	bool have_device;  /* device_ns is measured */
	bool have_latency; /* min, mean, quantiles and max are measured */
	bool estimated;	   /* total, self, outermost and bytes are scaled up from samples */
	struct hk_report_buckets buckets;
};

struct hk_report_call {
	int32_t rank;
	const char *role;
	const char *host, *domain, *function, *library;
	uint32_t flags;	 /* HK_HOOK_* */
	bool has_stacks; /* its records have the stacks of calls */
	struct hk_report_numbers numbers;
};

struct hk_report_memory {
	int32_t rank, device; /* device -1: the host, or unknown */
	const char *role;
	const char *kind; /* "heap", "map", "device", "managed", "pinned" */
	const char *library;
	uint64_t allocs, frees, live_bytes, peak_bytes, peak_low, peak_high;
	int64_t peak_time_ns;
	/* Live bytes at the instant of the peak of "*" of this rank, role, device and kind. With
	 * several processes: live bytes of the process that has the highest peak. */
	uint64_t at_peak_bytes;
	bool have_at_peak; /* false: a job of an older version that did not keep it */
};

/* Live bytes of one process over time, of one device and kind and all its libraries. The highest
 * bin is the process's exact peak. Each process of a rank has its own series. Series are not
 * summed: within a bin the order of their values is unknown. */
struct hk_report_memory_series {
	int32_t rank, device; /* device -1: the host, or unknown */
	const char *role;
	uint32_t pid;
	const char *kind;
	int64_t start_ns;     /* start of the first bin */
	uint64_t width_ns;    /* width of every bin, not 0 */
	int64_t end_ns;	      /* last sample of the process; the last value holds until then */
	size_t count;	      /* bins, from 1 to HK_REPORT_SERIES_BINS */
	uint64_t *max_bytes;  /* highest value in each bin, including the value at its start */
	uint64_t *last_bytes; /* value at the end of each bin */
};
#define HK_REPORT_SERIES_BINS 256u

/* Activity of one main process over time, of one kind: ns in outermost calls of a domain, a number
 * of calls, or ns on a processor. Successive main processes of a rank have a row each. */
struct hk_report_activity {
	int32_t rank;
	Hk__ActivityKind kind; /* PROTOCOL.md, section 4 */
	const char *domain;    /* only with HK__ACTIVITY_KIND__ACTIVITY_DOMAIN, else empty */
	double start_ns;       /* start of the first bin, since the job's start */
	double width_ns;       /* width of every bin, not 0 */
	double end_ns;	       /* last sample of the process */
	size_t count;	       /* bins, from 1 to HK_REPORT_SERIES_BINS */
	double *sum;	       /* cumulative: all bins up to and including this one */
};

struct hk_report_open_call {
	int32_t rank;
	const char *role;
	uint32_t thread; /* kernel thread id */
	const char *thread_name;
	uint32_t depth; /* 1: outermost */
	const char *function, *library, *domain;
	uint32_t meaning; /* enum hk_meaning; or one of a later version */
	uint64_t open_ns;
	/* The call belongs to a launcher, or to a thread other than the first and only waits for
	 * events or threads. Such a call is normal and not a hang. */
	bool idle;
};

/* A level that the governor changed. If `pinned`, from = to: the function costs more than the
 * budget, and the governor may not change its level. */
struct hk_report_step {
	int32_t rank;
	const char *role;
	const char *pattern;   /* library:function as defined */
	const char *from, *to; /* levels; static */
	bool pinned;
	int64_t time_ns;
};

/* A program that a process started without the agent. */
struct hk_report_bare {
	int32_t rank;
	uint32_t pid; /* of the process */
	const char *role;
	const char *program; /* as named */
	uint32_t reason;     /* enum hk_bare_reason of ring/segment.h; or one of a later version */
	uint32_t times;
};

/* What was found out about the job after it ran. */
struct hk_report_note {
	const char *kind; /* "divergence" */
	const char *text; /* one sentence, without control characters */
	int32_t rank;	  /* -1: none */
};

/* An object that a CUDA runtime is linked into: its calls of it go through no slot. */
struct hk_report_runtime {
	int32_t rank;
	uint32_t pid;
	const char *role, *library;
	bool driver; /* its process loaded a CUDA driver, or called one */
};

/* Operations of NCCL of one function and size on one communicator, as one rank measured them. */
struct hk_report_transfer {
	int32_t rank;
	const char *role, *function; /* "AllReduce" */
	uint64_t comm;		     /* NCCL's number of it */
	uint32_t ranks;
	uint32_t size_log2; /* each has 2^size_log2 bytes at least, and less than twice that */
	uint64_t operations, bytes, total_ns, min_ns, max_ns;
	/* GB/s as nccl-tests define them: bytes by time, and what a link carries of that. */
	double algorithm_gbps, bus_gbps;
};

/* What comparing the digests of a group's values over its ranks has shown. */
struct hk_report_agreement {
	const char *group;	      /* "parameters" */
	uint32_t expected, reporting; /* ranks */
	uint64_t compared, differing; /* steps that all expected ranks had */
	uint64_t last_step;	      /* compared */
	bool differs;		      /* the following is about the first step that differs */
	uint64_t step;
	const char *tensor;	  /* the first that differs; empty: the ranks have other tensors */
	uint32_t tensors, of;	  /* that many of so many differ */
	const char *odd, *others; /* ranks: "3", "0-2"; of a `tie` both sides */
	bool tie;		  /* there is no majority */
	uint32_t missing;	  /* ranks that did not report this step */
	const char *confidence;	  /* "high", "medium"; static */
};

#define HK_REPORT_LATE 8u

/* What the others waited for one rank. */
struct hk_report_late {
	int32_t rank;
	uint64_t times, wait_ns, longest_ns;
};

/* Waits in the calls of one collective on one communicator, as matched while the job ran. */
struct hk_report_wait {
	const char *function;
	uint64_t comm;	      /* stable hash of the communicator */
	uint64_t collectives; /* matched */
	uint64_t together;    /* of these: the skew does not exceed the error of the clocks */
	uint64_t wait_ns;     /* over all ranks */
	uint64_t skew_ns, longest_skew_ns; /* first to last entry; the sum, and the longest */
	uint64_t error_ns;		   /* largest error of a difference of two entries */
	struct hk_report_late late[HK_REPORT_LATE]; /* the most awaited ranks first */
	size_t late_count;
};

/* How much was matched while the job ran. */
struct hk_report_matching {
	uint64_t collectives;		       /* matched */
	uint64_t doubtful, incomplete, unsure; /* contradict each other; not all ranks; no number */
	uint64_t late, dropped, clockless;     /* calls: too late, without room, without a clock */
	uint64_t other_ns;		       /* waits that no row has */
	uint32_t open;			       /* collectives that wait for ranks */
	const char *doubt;		       /* first reason for `unsure`; static; NULL: none */
	int32_t doubt_rank;
};

/* A condition that came true. Times are ns since the job's start. */
struct hk_report_trigger {
	uint32_t number; /* from 1 on; 0: none */
	const char *condition, *function, *saw, *directory, *problem;
	const char *level; /* that levels were raised to; static; empty: they stayed */
	int32_t rank;	   /* -1: none */
	int64_t at_ns;
	int64_t from_ns, until_ns; /* what was kept */
	double value, limit;
	uint64_t records, bytes, refused_records;
	uint32_t prolonged; /* times that another one came before its end */
	bool open;	    /* its records are still being kept */
};

struct hk_report_triggers {
	struct hk_report_trigger *list; /* in the order of firing */
	size_t count;
	uint32_t refused, too_soon;
	const char *why; /* the last one was refused */
	size_t conditions;
	const char *unseen; /* the first condition about a function that no process has hooked;
			       NULL: none */
	struct hk_report_trigger kept; /* whose records these are; number 0: a whole job's */
};

/* A node that sends its part of the job to the root. */
struct hk_report_node {
	const char *host;
	const char
	    *state; /* "connected", "silent", or "complete": the root has its whole part; static */
	uint32_t processes,
	    live; /* live is 0 on a silent node: the state of its processes is unknown */
	uint64_t unsent_bytes; /* of records, at its last report */
	uint64_t shed_records;
	uint64_t seen_unix_ns;		       /* last report by the root's clock; 0: unknown */
	uint64_t sync_checks, sync_violations; /* sync=all calls with other nodes */
};

struct hk_report {
	struct hk_report_job job;
	/* The snapshot is a rollup (rollup.h): `calls` is empty, and coverage does not speak of
	 * calls. */
	bool folded;
	struct hk_report_rank *ranks; /* by rank */
	size_t rank_count;
	struct hk_report_process *processes; /* by rank, then start */
	size_t process_count;
	struct hk_report_call *calls; /* by rank, then total, largest first */
	size_t call_count;
	struct hk_report_memory
	    *memory; /* by rank, role (main first), device, kind; library "*" first */
	size_t memory_count;
	/* By rank, role (main first), device, kind, start. Empty if the snapshot was taken without
	 * series or by an older version. */
	struct hk_report_memory_series *memory_series;
	size_t memory_series_count;
	/* By rank, kind, domain, start. Empty if the snapshot was taken without activity or by an
	 * older version. */
	struct hk_report_activity *activity;
	size_t activity_count;
	struct hk_report_open_call *open_calls; /* by rank, role (main first), thread, depth */
	size_t open_call_count;
	struct hk_report_step *steps; /* by rank, then time */
	size_t step_count;
	struct hk_report_bare *bare; /* in the order of processes; none of `bare_more` */
	size_t bare_count;
	uint64_t bare_more;			  /* programs for which there was no room */
	struct hk_report_connection *connections; /* in the order of processes */
	size_t connection_count;
	struct hk_report_address *addresses; /* in the order of processes */
	size_t address_count;
	struct hk_report_note *notes;
	size_t note_count;
	struct hk_report_runtime *runtimes; /* in the order of processes */
	size_t runtime_count;
	struct hk_report_transfer *transfers; /* by rank, then time, longest first */
	size_t transfer_count;
	struct hk_report_agreement *agreements; /* in the order of their first report */
	size_t agreement_count;
	struct hk_report_wait *waits; /* the longest first */
	size_t wait_count;
	struct hk_report_matching matching;
	struct hk_report_triggers triggers;
	struct hk_report_node *nodes; /* in the order they first reported; empty without a root */
	size_t node_count;
	struct hk_report_strings strings; /* owns the texts */
};

#endif
