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

#include "hooks/arguments.h"
#include "report/model/stacks.h"
#include "schema/wire.pb-c.h"

#define HK_SLICE_WORDS 8   /* named values of one call: as many as a site has keys */
#define HK_SLICE_EXTRA 32u /* words behind them: its arguments */

struct hk_export_process {
	size_t index;	   /* position in the order of display, from 0 */
	uint64_t uuid;	   /* never 0 */
	int32_t rank;	   /* -1: none */
	bool is_main;	   /* the first process of its rank, not a helper or launcher */
	uint32_t pid;	   /* the kernel's */
	uint32_t show_pid; /* unique in this export: the kernel's where no other process has it */
	char title[160];   /* "rank 0 (host) pid 4711", "rank 0 helper (host) pid 4720" */
	const char *command, *host;
	const char *role; /* "main", "helper", "launcher"; static */
	uint64_t start_ns;
	bool clock_known; /* otherwise its times use its node's realtime clock, with an unknown
			     error */
	uint64_t clock_error_ns;   /* limit of its times' errors against the root's processes */
	const Hk__Process *stacks; /* whose stacks its calls have, valid; NULL: none */
};

struct hk_export_thread {
	const struct hk_export_process *process;
	uint64_t uid;	   /* within the process */
	uint64_t uuid;	   /* never 0 */
	uint32_t sequence; /* 1, 2, ... in this export */
	uint32_t tid;	   /* the kernel's */
	uint32_t show_tid; /* unique in this export: the kernel's where no other thread has it */
	bool is_main;
	char name[64];
	void *private; /* the exporter's own */
};

struct hk_export_site {
	uint32_t index; /* dense within its process */
	const char *function, *library, *domain;
	uint8_t meaning; /* enum hk_meaning */
	uint8_t key_count;
	uint8_t keys[HK_SLICE_WORDS];	      /* enum hk_key of each word */
	const struct hk_signature *signature; /* NULL: unknown arguments */
	/* Short names of the process's kernels, number 1 first. */
	const char *const *kernels;
	size_t kernel_count;
};

/* A message that a call received or waited for. */
struct hk_export_arrival {
	uint64_t id;	  /* `flow_out` of the sending call */
	uint64_t sent_ns; /* its start */
	uint64_t bytes;
	int32_t source; /* rank in the communicator */
};

/* Statistics of matched calls in an export. */
struct hk_export_flows {
	uint64_t sends, receives; /* calls that take part in matching */
	uint64_t messages;	  /* messages with both ends known */
	uint64_t any;		  /* of receives: from any rank, with an unknown sender */
	uint64_t early;		  /* received before they were sent: clocks are wrong */
	uint64_t joined;	  /* ranks that joined another rank's collective call */
	uint64_t apart;		  /* calls of ranks with missing records */
};

struct hk_mail; /* cli/flow/mailbox.h */

struct hk_slice {
	uint64_t start_ns, end_ns;
	const struct hk_export_site *site;
	bool unwound; /* left by an exception, longjmp or the thread's end */
	bool failed;  /* its result is a failure */
	uint8_t word_count;
	uint8_t extra_count;
	uint64_t words[HK_SLICE_WORDS];
	uint64_t extra[HK_SLICE_EXTRA];
	uint32_t stack; /* its caller's, by number (callers.h); 0: none */
	/* Matches with other calls, if the exporter uses flows. Ids are unique. */
	uint64_t flow_out;	   /* id of the message it sends, if a receive may match; else 0 */
	uint64_t flow_joint;	   /* id of the collective, shared by all ranks; else 0 */
	bool flow_first;	   /* it is the first call of the collective */
	struct hk_mail *flow_held; /* private to cli/flow/flow.h */
	uint32_t arrival_count;
	const struct hk_export_arrival *arrivals; /* valid during close */
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

/* Display form of a recorded word of key KEY (enum hk_key); its name is hk_key_name(KEY). */
enum hk_value_form {
	HK_VALUE_UNNAMED, /* not shown: an unknown key */
	HK_VALUE_UINT64,
	HK_VALUE_INT64,
	HK_VALUE_INT32,	 /* ranks, tags: the low half */
	HK_VALUE_HANDLE, /* addresses and hashes, which are not used as numbers */
	HK_VALUE_DOUBLE, /* the bits of one */
	HK_VALUE_TEXT,	 /* hk_exporter_value_text */
};
enum hk_value_form hk_exporter_value_form(uint8_t key);

/* Returns the text of a value of that form: the kernel's short name, or a grid like "4x2x3". TEXT
 * has room for it. */
#define HK_VALUE_TEXT_BYTES 40u
const char *hk_exporter_value_text(const struct hk_export_site *site, uint8_t key, uint64_t word,
				   char text[HK_VALUE_TEXT_BYTES]);

/* Returns whether WORD of KEY is meaningful: the bytes of a failed call (-1) are not, nor the
 * kernel of a launch inside another one (0). */
bool hk_exporter_has_value(uint8_t key, uint64_t word);

/* Sets the arguments and the result of SLICE, which they point into. Returns false if SLICE has
 * none. */
bool hk_slice_arguments(const struct hk_slice *slice, struct hk_arguments *ret_arguments);

/* Returns whether KEY is among the named values of SLICE. */
bool hk_slice_has(const struct hk_slice *slice, uint8_t key);

/* Writes the name of ARGUMENT, or the value of a text, as valid UTF-8, cut at a character's
 * edge. */
#define HK_ARGUMENT_NAME_BYTES 64
#define HK_ARGUMENT_VALUE_BYTES (3 * HK_ARGUMENTS_LONG_BYTES + 4)
void hk_argument_name(const struct hk_argument *argument, char name[HK_ARGUMENT_NAME_BYTES]);
void hk_argument_text(const struct hk_argument *argument, char text[HK_ARGUMENT_VALUE_BYTES]);

#endif
