/* timeline.h: merges all calls of a job from its chunk files and passes them to an exporter in
 * order of their starts. Memory is bounded by the number of processes, threads and sites, never by
 * the length of the trace. Damaged parts are skipped and counted. One thread, no state beyond the
 * call. */
#ifndef HK_CLI_TIMELINE_TIMELINE_H
#define HK_CLI_TIMELINE_TIMELINE_H

#include "cli/export/exporter.h"
#include "cli/span.h"
#include "schema/wire.pb-c.h"

struct hk_timeline_options {
	int64_t from_ns,
	    to_ns; /* since the job's start: calls that overlap this range are exported */
	const struct hk_span_ranks *ranks;
	size_t rank_count;		/* 0: all processes */
	bool ranks_own;			/* without helpers and launchers */
	hk_export_functions *functions; /* of stacks; NULL: stacks are not shown */
	/* Called at times with the work done and the whole work, in records; may be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
};

struct hk_timeline_result {
	uint64_t records;  /* number of records read */
	uint64_t calls;	   /* number of calls exported */
	uint64_t instants; /* part of these: marks, values of counters, activities of devices */
	uint64_t activities;
	uint64_t lost;	    /* records that the processes had no room for */
	uint64_t shed;	    /* records that were evicted since */
	uint64_t elsewhere; /* records that only the root has */
	size_t newer;	    /* files that a newer hooktrace wrote */
	uint64_t damaged;   /* unreadable stretches of chunk files */
	uint64_t too_deep;  /* calls left out because they nest deeper than HK_NEST_DEPTH_MAX */
	struct hk_export_flows flows; /* if the exporter uses them */
	size_t processes;	      /* exported processes */
	size_t unrecorded;	      /* of these, processes without a chunk file */
};

/* Exports the job of SNAPSHOT, whose files lie in DIRECTORY, through OPS to TARGET. *ret_result is
 * set on success. Returns 0, -ENOMEM, or -EIO or another -errno of reading and writing. */
int hk_timeline_export(const Hk__Snapshot *snapshot, const char *directory,
		       const struct hk_exporter_ops *ops, const struct hk_export_target *target,
		       const struct hk_timeline_options *options,
		       struct hk_timeline_result *ret_result);

#endif
