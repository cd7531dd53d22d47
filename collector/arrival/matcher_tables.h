/* matcher_tables.h: the tables of a matcher, for the files of a matcher only. One thread. */
#ifndef HK_COLLECTOR_ARRIVAL_MATCHER_TABLES_H
#define HK_COLLECTOR_ARRIVAL_MATCHER_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "report/wait/collective_wait.h"

#define HK_MATCHER_RANKS (1 << 20) /* ranks are below */
#define HK_MATCHER_BEFORE 3u	   /* replaced processes of a rank that are known */

/* A rank in a communicator. */
struct hk_matcher_member {
	int32_t rank;
	uint32_t index; /* from 0 on, in the order of their first calls */
	uint64_t owner; /* process; 0: none yet */
	bool replaced;	/* another process has taken its place elsewhere: its calls are late */
	uint64_t before[HK_MATCHER_BEFORE]; /* its last processes, 0: none */
	UT_hash_handle hh;
};

struct hk_matcher_comm {
	uint64_t comm;
	struct hk_matcher_member *members; /* by rank */
	uint32_t expected;		   /* ranks; 0: not known */
	uint32_t seen;			   /* members with a process that is not replaced */
	bool unsure;			   /* a rank's calls cannot be numbered */
	bool ended;			   /* unsure for good */
	uint32_t beginnings;		   /* how often processes were replaced */
	UT_hash_handle hh;
};

/* The calls of one member in one kind. */
struct hk_matcher_progress {
	uint64_t first; /* number of its first call in this matcher */
	uint64_t next;	/* one more than the highest number of its calls; 0: it has none */
	uint64_t seen;	/* bit i: its call next - 1 - i came */
};

/* What the others waited for one rank in calls of one kind. */
struct hk_matcher_late {
	int32_t rank;
	uint64_t times, wait_ns, longest_ns;
};

/* The calls of one function on one communicator. */
struct hk_matcher_kind {
	struct hk_matcher_kind *next;
	struct hk_matcher_comm *comm;
	char *function;
	enum hk_wait_pattern pattern;
	uint64_t begun; /* one more than the highest number of a call */
	uint64_t floor; /* calls with lower numbers were pushed out */
	uint32_t ready; /* members that have begun HK_MATCHER_SETTLED calls */
	/* Of each member, by its index. */
	struct hk_matcher_progress *progress;
	struct hk_matcher_late *late;
	size_t room;
	/* Sums. */
	uint64_t collectives, together, wait_ns, skew_ns, longest_skew_ns, error_ns;
};

/* A collective that not all ranks have entered. */
struct hk_matcher_entry {
	struct {
		const struct hk_matcher_kind *kind;
		uint64_t number;
	} key;
	struct hk_matcher_kind *kind;
	uint32_t count;
	struct hk_wait_part *parts; /* in the order of their arrival */
	uint32_t capacity;
	UT_hash_handle hh; /* in the order of their first arrivals */
};

struct hk_matcher {
	size_t parts_most, parts; /* places that may be, and are taken */
	size_t members;		  /* of all communicators */
	size_t room;		  /* for members, over all kinds */
	struct hk_matcher_comm *comms;
	struct hk_matcher_kind *kinds;
	size_t kind_count;
	struct hk_matcher_entry *entries;
	int32_t world;
	bool unnumbered; /* calls of some rank have no numbers, on whichever communicators */
	uint64_t collectives, doubtful, incomplete, late, unsure, dropped, clockless, other_ns;
	uint32_t doubt;
	int32_t doubt_rank;
};

#endif
