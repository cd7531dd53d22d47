/* overview_bins.h: the numbers of an overview, per rank and bin of time. One thread. */
#ifndef HK_CLI_TABLES_OVERVIEW_BINS_H
#define HK_CLI_TABLES_OVERVIEW_BINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_OVERVIEW_DOMAINS_MAX 16u
/* The last domain, if names are more than HK_OVERVIEW_DOMAINS_MAX. */
#define HK_OVERVIEW_OTHER "other"

struct hk_overview_bin {
	uint64_t calls; /* calls that began in it */
	uint64_t lost;	/* missing records, noticed in it */
	double unknown; /* unread share of the bin, 0 to 1; the read part was scaled up */
	/* Time in outermost calls of each domain, summed over threads. */
	uint64_t busy_ns[HK_OVERVIEW_DOMAINS_MAX];
};

struct hk_overview_rank {
	int32_t rank;
	int64_t start_ns, end_ns;     /* as far as known */
	struct hk_overview_bin *bins; /* all bins of the overview; NULL: it has no records */
	bool seen; /* the bins come from the collector's sums; none of its records was read */
};

struct hk_overview {
	int64_t start_ns;  /* start of the first bin, since the job's start */
	uint64_t width_ns; /* width of every bin, not 0 */
	size_t bins;
	const char
	    *domains[HK_OVERVIEW_DOMAINS_MAX]; /* in order of appearance; a last one "other" */
	size_t domain_count;
	struct hk_overview_rank *ranks; /* sorted by rank */
	size_t rank_count;
	bool complete;		  /* every available record was read */
	uint64_t records;	  /* number of records read */
	uint64_t records_there;	  /* records in the files */
	uint64_t records_missing; /* lost, evicted, or on the root */
	uint64_t damaged;	  /* unreadable stretches of files */
};

/* Returns the index of the domain NAME, added if new, or -ENOMEM. */
int hk_overview_domain(struct hk_overview *overview, const char *name);

/* Frees OVERVIEW. Accepts NULL, returns NULL. */
struct hk_overview *hk_overview_free(struct hk_overview *overview);

#endif
