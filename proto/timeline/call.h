/* call.h: a recorded call as readers see it: its process, thread, site, times and values. Strings
 * are valid UTF-8. All times are nanoseconds since the Unix epoch on the job's common clock. Plain
 * values; what they point to belongs to the tracks (tracks.h). */
#ifndef HK_TIMELINE_CALL_H
#define HK_TIMELINE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/arguments.h"
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

#endif
