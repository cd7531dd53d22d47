/* history.h: what the ranks of a job did, from their recorded calls: for each rank its first
 * thread's calls in order, its waits for other ranks, and the work of its devices.
 *
 * A rank's time is cut into pieces: a call is one piece, without the pieces of the calls in it.
 * What lies between two pieces is the rank's own work. A call that communicates is one piece
 * whatever it calls. Memory grows with the calls, up to the two limits below. What is added behind
 * a limit is left out, and every rank's history is doubted from there. Times: Unix, in ns. One
 * thread.
 */
#ifndef HK_CLI_DELAY_HISTORY_H
#define HK_CLI_DELAY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/strings.h"
#include "schema/wire.pb-c.h"

#define HK_HISTORY_PIECES (48u << 20) /* 16 bytes each; work of devices counts twice */
#define HK_HISTORY_WAITS (8u << 20)   /* 64 bytes each */
#define HK_ACTIVITIES 65536u	      /* further ones count as the last */
#define HK_NO_ACTIVITY 0xffffffu

enum hk_work_class {
	HK_WORK_OWN,	/* outside of hooked calls, or in a range of the program */
	HK_WORK_COMM,	/* calls of MPI and others that communicate */
	HK_WORK_CALL,	/* other calls */
	HK_WORK_DEVICE, /* work of a device */
	HK_WORK_UNKNOWN /* records are missing */
};
#define HK_WORK_CLASSES 5u

/* What a piece of time went to. */
struct hk_activity {
	const char *function;
	enum hk_work_class kind;
	bool syncs;		    /* a call that may wait for a device */
	const Hk__Process *process; /* one process with the stack; NULL without one */
	uint32_t stack;		    /* its number there, 0: none */
	uint64_t digest;	    /* equal for equal stacks of all processes; 0: none */
};

struct hk_piece {
	uint64_t start_ns;
	uint64_t length_ns : 40;
	uint64_t activity : 24;
};

struct hk_device_piece {
	uint64_t start_ns, end_ns;
	uint64_t submitted_ns; /* 0: not known */
	uint32_t stream, activity;
};

/* A wait of one rank for another one, or two ranks that were at one place at one time. */
struct hk_lane_wait {
	uint64_t start_ns, until_ns;
	uint64_t aligned_ns; /* both had left their calls */
	uint64_t from_ns;    /* delay.h: their last meeting before */
	double passed_ns;    /* delay.h: later waits that it caused */
	uint32_t lane, awaited;
	uint32_t comm, joint; /* of a collective of all with all: digests; else 0 */
	uint32_t activity : 24;
	bool certain : 1;  /* it is longer than the error of the clocks */
	bool rivalled : 1; /* another rank may have been the last one */
};

/* A rank. */
struct hk_lane {
	int32_t rank;
	uint64_t begin_ns, end_ns; /* from the end of MPI_Init to the start of MPI_Finalize */
	uint64_t doubt_ns;	   /* records from then on may be missing; UINT64_MAX: none */
	struct hk_piece *pieces;   /* in order */
	size_t piece_count, piece_room;
	struct hk_device_piece *device; /* by stream, then end */
	size_t device_count, device_room;
	uint32_t *waits; /* indices, in order of their ends */
	size_t wait_count;
	uint64_t mpi_calls, mpi_recorded; /* by the statistics, and by the records */
	uint64_t calls, recorded;	  /* the same of other calls */
};

struct hk_activity_entry;

struct hk_history {
	struct hk_report_strings strings;
	struct hk_lane *lanes; /* by rank */
	size_t lane_count;
	struct hk_activity *activities;
	uint32_t activity_count;
	struct hk_activity_entry *activity_table;
	struct hk_lane_wait *waits; /* after hk_history_finish in order of their ends */
	size_t wait_count, wait_room;
	size_t pieces;	    /* of all lanes */
	uint64_t full_ns;   /* calls from then on are left out; UINT64_MAX: none */
	uint64_t elsewhere; /* waits in other threads, before the end of MPI_Init, behind a gap */
	uint64_t lost;	    /* records that are missing */
	uint64_t doubtful;  /* collectives whose times contradict each other */
	bool damaged;	    /* records cannot be read: there is no history */
	uint64_t clock_error_ns;
	uint64_t origin_ns;
};

/* Makes an empty history of LANES ranks, whose `rank` the caller sets. Returns 0 or -ENOMEM; to be
 * freed with hk_history_fini in every case. */
int hk_history_init(struct hk_history *history, size_t lanes);
void hk_history_fini(struct hk_history *history);

/* Returns the index of the lane of RANK, SIZE_MAX if RANK has no lane. */
size_t hk_history_lane(const struct hk_history *history, int32_t rank);

/* Returns the number of an activity, added if it is new, or -ENOMEM. */
int64_t hk_history_activity(struct hk_history *history, const struct hk_activity *activity);

/* Add to lane LANE: time in a call, not before what was added last; work of a device; and a wait.
 * Return 0 or -ENOMEM. */
int hk_history_piece(struct hk_history *history, size_t lane, uint32_t activity, uint64_t start_ns,
		     uint64_t end_ns);
int hk_history_device(struct hk_history *history, size_t lane, const struct hk_device_piece *piece);
int hk_history_wait(struct hk_history *history, const struct hk_lane_wait *wait);

/* Puts all in order when everything is added: leaves out waits that are in no call of their lane.
 * Returns 0 or -ENOMEM. */
int hk_history_finish(struct hk_history *history);

/* ---- time ---- */

/* What a time of a lane went to: an activity, or own work between two of them, as a key. */
#define HK_WORK_UNKNOWN_KEY UINT64_MAX
static inline uint64_t hk_work_call(uint32_t activity)
{
	return (uint64_t)UINT32_MAX << 32 | activity;
}
static inline uint64_t hk_work_between(uint32_t before, uint32_t after)
{
	return (uint64_t)before << 32 | after;
}
/* Return whether KEY is an activity, and which one. */
static inline bool hk_work_is_call(uint64_t key)
{
	return key >> 32 == UINT32_MAX;
}
static inline uint32_t hk_work_activity(uint64_t key)
{
	return (uint32_t)key;
}
enum hk_work_class hk_work_class_of(const struct hk_history *history, uint64_t key);
/* "own work", "communication", ...; static. */
const char *hk_work_class_name(enum hk_work_class kind);

/* Returns the index of the first piece of LANE that ends after TIME_NS. */
size_t hk_lane_find(const struct hk_lane *lane, uint64_t time_ns);

/* What a lane did just before a time. */
struct hk_tile {
	uint64_t key;
	uint64_t start_ns;
	uint32_t activity; /* HK_NO_ACTIVITY between calls */
};
struct hk_tile hk_lane_before(const struct hk_lane *lane, uint64_t time_ns);

#endif
