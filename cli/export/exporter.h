/* exporter.h: an exporter turns a job's calls into one file format; its operations and their input.
 * The timeline (timeline.h) merges the records of all processes and calls an exporter's operations:
 * begin once, thread once per thread before its first slice, then open and close so that they nest
 * per thread, mark for missing records, end once. Processes come sorted: by rank, then role, then
 * start; those without a rank last. Strings are valid UTF-8. All times are nanoseconds since the
 * Unix epoch on the job's common clock. One thread; all structs belong to the timeline and live
 * until end has returned, slices only during the call. */
#ifndef HK_CLI_EXPORT_EXPORTER_H
#define HK_CLI_EXPORT_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/model/stacks.h"
#include "schema/wire.pb-c.h"
#include "timeline/call.h"
#include "timeline/value.h"

/* Statistics of matched calls in an export. */
struct hk_export_flows {
	uint64_t sends, receives; /* calls that take part in matching */
	uint64_t messages;	  /* messages with both ends known */
	uint64_t any;		  /* of receives: from any rank, with an unknown sender */
	uint64_t early;		  /* received before they were sent: clocks are wrong */
	uint64_t joined;	  /* ranks that joined another rank's collective call */
	uint64_t apart;		  /* calls of ranks with missing records */
};

/* A function at a frame of a stack. Texts but `text` are the process's, and may be empty. */
struct hk_export_function {
	char text[512];	     /* as people read it */
	const char *name;    /* as its file spells it */
	const char *library; /* path of its object */
	const char *file;    /* of the source */
	uint32_t line;	     /* under way; 0: not known */
};

/* Writes the functions at frame NUMBER of PROCESS, which exists, to LIST: those that were inlined
 * there, innermost first, and then the frame's own. Returns how many there are, at least 1. */
#define HK_EXPORT_FUNCTIONS 33u
typedef size_t hk_export_functions(const Hk__Process *process, uint32_t number,
				   struct hk_export_function list[HK_EXPORT_FUNCTIONS]);

struct hk_export_job {
	const char *id, *command;
	hk_export_functions *functions; /* NULL: no exporter shows stacks */
	uint64_t start_ns;		/* no time in this export is earlier */
	const struct hk_export_process *const *processes;
	size_t process_count;
	bool many_nodes;	      /* several nodes with converted clocks: errors matter */
	const Hk__Snapshot *snapshot; /* the whole job: exact statistics, also of other ranks */
	uint64_t origin_ns;	      /* the job's own start, time 0 of the report */
	uint64_t from_ns,
	    to_ns; /* range of exported calls: those that overlap it; 0 and UINT64_MAX: all */
};

/* Weight and grouping of folded stacks. */
enum hk_folded_weight { HK_FOLDED_TIME, HK_FOLDED_CALLS };
enum hk_folded_split { HK_FOLDED_SPLIT_NONE, HK_FOLDED_SPLIT_RANK, HK_FOLDED_SPLIT_THREAD };

/* Destination of an export, and parameters of some formats. */
struct hk_export_target {
	FILE *output;	  /* the caller's; NULL if the exporter makes its files itself */
	const char *path; /* as the user gave it; NULL: standard output */
	enum hk_folded_weight folded_weight;
	enum hk_folded_split folded_split;
	int32_t rank;  /* rank of the output, if every rank has one */
	bool whole_us; /* times in whole microseconds */
	void *context; /* for exporters that are no format: where their result goes */
};

struct hk_exporter;

/* Missing records. */
struct hk_export_gap {
	const char *why; /* "lost": never stored; "shed": evicted by --keep since */
	uint64_t records;
};

/* Every operation returns 0 or -errno, which ends the export. A NULL operation is skipped. */
struct hk_exporter_ops {
	const char *format; /* as in --format */
	const char *suffix; /* of the file it writes, for messages */
	bool binary;	    /* unsuitable for a terminal */
	/* Work of `end` in percent of the work of all calls, for progress displays. */
	uint8_t end_percent;
	bool makes_files; /* TARGET has a path and no output */
	/* First bytes of each file if every rank has one, rank<N>.SUFFIX in a directory
	 * (rank_files.h): then there is one exporter per rank, each with an output. Else NULL. */
	const char *rank_file_begin;
	/* Returns NULL without memory. TARGET lasts until free. */
	struct hk_exporter *(*create)(const struct hk_export_target *target);
	int (*begin)(struct hk_exporter *exporter, const struct hk_export_job *job);
	int (*thread)(struct hk_exporter *exporter, struct hk_export_thread *thread);
	int (*open)(struct hk_exporter *exporter, struct hk_export_thread *thread,
		    const struct hk_slice *slice);
	/* Ends SLICE, whose end may have moved since open: the nesting is exact to the
	 * nanosecond. */
	int (*close)(struct hk_exporter *exporter, struct hk_export_thread *thread,
		     const struct hk_slice *slice);
	/* A mark or a counter's value (the site's meaning) at the slice's start. */
	int (*instant)(struct hk_exporter *exporter, struct hk_export_thread *thread,
		       const struct hk_slice *slice);
	/* Records of PROCESS are missing; noticed at TIME. */
	int (*mark)(struct hk_exporter *exporter, const struct hk_export_process *process,
		    uint64_t time_ns, const struct hk_export_gap *gap);
	/* Records of PROCESS from TIME on may be missing: its calls are not matched any more. Comes
	 * before the first call. */
	int (*doubt)(struct hk_exporter *exporter, const struct hk_export_process *process,
		     uint64_t time_ns);
	/* Statistics of matched calls. NULL: the exporter does not use flows. */
	int (*flows)(struct hk_exporter *exporter, const struct hk_export_flows *flows);
	/* THREAD will not occur again; frees its private data. Also called after an error. */
	void (*forget)(struct hk_exporter *exporter, struct hk_export_thread *thread);
	int (*end)(struct hk_exporter *exporter);
	void (*free)(struct hk_exporter *exporter);
};

/* All formats: each is a file that defines `const struct hk_exporter_ops hk_<name>_exporter`. */
#define HK_EXPORTERS(X) X(perfetto) X(chrome) X(kineto) X(csv) X(folded) X(pprof) X(sqlite)

#define HK_EXPORTER_DECLARE(name) extern const struct hk_exporter_ops hk_##name##_exporter;
HK_EXPORTERS(HK_EXPORTER_DECLARE)

/* Returns the exporter for FORMAT, or NULL. */
const struct hk_exporter_ops *hk_exporter_find(const char *format);

/* Returns exporter number INDEX (from 0), or NULL after the last, to list all. */
const struct hk_exporter_ops *hk_exporter_at(size_t index);

#endif
