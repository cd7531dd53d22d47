/* table.h: every metric that the collector exports: the one list of them.
 *
 * X(identifier, name, type, unit, fold, "label=value" or "", help). Names are without the endings
 * of their types (exposition.h), but with their unit. Fold: how rows are summed over ranks or
 * nodes. Entries of one name follow each other.
 */
#ifndef HK_COLLECTOR_METRICS_TABLE_H
#define HK_COLLECTOR_METRICS_TABLE_H

/* clang-format off */

/* Of a job: labels hook_job, name. */
#define HK_METRICS_JOB(X) \
	X(RUNNING, "hook_job_running", GAUGE, NONE, MAX, "", \
	  "1 until the job is complete; its series go five minutes later.") \
	X(WORLD, "hook_job_world_size", GAUGE, NONE, MAX, "", "Ranks that the launcher said there are.") \
	X(START, "hook_job_start_time_seconds", GAUGE, SECONDS, MAX, "", "When the job began, since the Unix epoch.") \
	X(LIVE, "hook_job_processes", GAUGE, NONE, MAX, "", "Traced processes that run.") \
	X(STORED, "hook_job_stored_bytes", GAUGE, BYTES, MAX, "", "What the job's directory takes.")

/* Of the main process of a rank: labels as below, with pid and program. */
#define HK_METRICS_INFO(X) \
	X(RANK, "hook_rank", INFO, NONE, MAX, "", "The main process of a rank.")

/* Of a rank's processes: labels hook_job, node, rank, role. */
#define HK_METRICS_PROCESS(X) \
	X(UP, "hook_rank_up", GAUGE, NONE, SUM, "", \
	  "Traced processes of the rank that run: 1 or 0 of role main.") \
	X(RECORDS, "hook_records", COUNTER, NONE, SUM, "", "Records of calls that were written.") \
	X(LOST_BUFFER, "hook_records_lost", COUNTER, NONE, SUM, "reason=buffer", \
	  "Records that are missing: the process's buffer was full, the store was, or they were older than --keep says.") \
	X(LOST_STORE, "hook_records_lost", COUNTER, NONE, SUM, "reason=store", "") \
	X(LOST_KEEP, "hook_records_lost", COUNTER, NONE, SUM, "reason=keep", "") \
	X(UNTRACKED, "hook_calls_untracked", COUNTER, NONE, SUM, "", "Calls that could not even be counted by function.") \
	X(OVERHEAD, "hook_overhead_seconds", COUNTER, SECONDS, SUM, "", "Estimate of the time that tracing took.") \
	X(CPU, "hook_rank_cpu_seconds", COUNTER, SECONDS, SUM, "", "CPU time of the processes.") \
	X(RSS_PEAK, "hook_rank_resident_peak_bytes", GAUGE, BYTES, MAX, "", \
	  "Most memory that one of the processes had resident.") \
	X(OPEN, "hook_open_call_seconds", GAUGE, SECONDS, MAX, "", \
	  "How long the oldest call has not returned; 0: there is none.") \
	X(CLOCK_ERROR, "hook_clock_error_seconds", GAUGE, SECONDS, MAX, "", \
	  "How wrong times may be against those of the root; left out if it is unknown.")

/* Of memory of a rank's processes: further labels device, kind. */
#define HK_METRICS_MEMORY(X) \
	X(LIVE, "hook_memory_live_bytes", GAUGE, BYTES, SUM, "", "Memory that is allocated.") \
	X(PEAK, "hook_memory_peak_bytes", GAUGE, BYTES, MAX, "", "Most memory that one process had allocated.") \
	X(ALLOCATIONS, "hook_memory_allocations", COUNTER, NONE, SUM, "", "Allocations.") \
	X(FREES, "hook_memory_frees", COUNTER, NONE, SUM, "", "Allocations that were freed.")

/* Of calls of a rank's processes: further label domain. */
#define HK_METRICS_DOMAIN(X) \
	X(CALLS, "hook_calls", COUNTER, NONE, SUM, "", "Calls.") \
	X(ERRORS, "hook_errors", COUNTER, NONE, SUM, "", "Calls that failed.") \
	X(BYTES, "hook_call_bytes", COUNTER, BYTES, SUM, "", "Bytes that calls were to move.") \
	X(BUSY, "hook_busy_seconds", COUNTER, SECONDS, SUM, "", \
	  "Time inside timed calls, those within others of the domain not counted again. A sample stands for 64 calls.")

/* The same: durations. */
#define HK_METRICS_DURATION(X) \
	X(DURATION, "hook_call_duration_seconds", HISTOGRAM, SECONDS, SUM, "", "How long the timed calls took. A sample stands for 64 calls.")

/* Of a function, over all ranks here: labels hook_job, role, domain, function. */
#define HK_METRICS_FUNCTION(X) \
	X(CALLS, "hook_function_calls", COUNTER, NONE, SUM, "", "Calls, by function.") \
	X(ERRORS, "hook_function_errors", COUNTER, NONE, SUM, "", "Calls that failed, by function.") \
	X(TIME, "hook_function_seconds", COUNTER, SECONDS, SUM, "", "Time of the timed calls, by function. A sample stands for 64 calls.")

/* Of the collector: no labels but its own. */
#define HK_METRICS_COLLECTOR(X) \
	X(START, "hook_collector_start_time_seconds", GAUGE, SECONDS, MAX, "", "When the collector began, since the Unix epoch.") \
	X(CPU, "hook_collector_cpu_seconds", COUNTER, SECONDS, MAX, "", "CPU time of the collector.") \
	X(RSS, "hook_collector_resident_memory_bytes", GAUGE, BYTES, MAX, "", "Memory of the collector that is resident.") \
	X(JOBS_OPEN, "hook_collector_jobs", GAUGE, NONE, MAX, "state=open", "Jobs that the collector knows.") \
	X(JOBS_CLOSED, "hook_collector_jobs", GAUGE, NONE, MAX, "state=closed", "") \
	X(STORED, "hook_collector_stored_bytes", GAUGE, BYTES, MAX, "", "What the directories of these jobs take.") \
	X(STORE_FREE, "hook_collector_store_free_bytes", GAUGE, BYTES, MAX, "", "Room on the file system of the store.") \
	X(DRAINED, "hook_collector_segments", GAUGE, NONE, MAX, "state=drained", \
	  "Segments of processes: those drained, those of an agent this collector cannot read, those refused as unsafe, those there is no room for.") \
	X(INCOMPATIBLE, "hook_collector_segments", GAUGE, NONE, MAX, "state=incompatible", "") \
	X(REFUSED, "hook_collector_segments", GAUGE, NONE, MAX, "state=refused", "") \
	X(WAITING, "hook_collector_segments", GAUGE, NONE, MAX, "state=waiting", "") \
	X(RECORDS, "hook_collector_records", COUNTER, NONE, MAX, "", "Records drained since the collector began.") \
	X(TURNED_AWAY, "hook_collector_refusals", COUNTER, NONE, MAX, "", "Connections and requests that were refused.") \
	X(SERIES, "hook_metrics_series", GAUGE, NONE, MAX, "", "Series of jobs on this page.") \
	X(DROPPED, "hook_metrics_series_dropped", GAUGE, NONE, MAX, "", \
	  "Series left out or summed up with others to keep the page small.")

/* Of a leaf, about its connection to the root. */
#define HK_METRICS_UPSTREAM(X) \
	X(CONNECTED, "hook_collector_upstream_connected", GAUGE, NONE, MAX, "", "Whether the root is reached.") \
	X(UNSENT, "hook_collector_upstream_unsent_bytes", GAUGE, BYTES, MAX, "", "Records that wait to be brought there.")

/* Of a collector that pushes its metrics by OTLP. */
#define HK_METRICS_OTLP(X) \
	X(ACCEPTED, "hook_collector_otlp_accepted", GAUGE, NONE, MAX, "", "Whether the receiver took the last push.") \
	X(TAKEN, "hook_collector_otlp_pushes", COUNTER, NONE, MAX, "", "Pushes that the receiver took.") \
	X(FAILED, "hook_collector_otlp_failures", COUNTER, NONE, MAX, "", "Pushes that it did not take.") \
	X(REJECTED, "hook_collector_otlp_rejected_points", COUNTER, NONE, MAX, "", \
	  "Data points that it rejected of pushes that it took.")

/* clang-format on */

#endif
