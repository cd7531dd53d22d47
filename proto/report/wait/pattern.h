/* pattern.h: the patterns of waiting for other ranks. Pure functions, any thread. */
#ifndef HK_REPORT_WAIT_PATTERN_H
#define HK_REPORT_WAIT_PATTERN_H

#include <stdbool.h>

enum hk_wait_pattern {
	HK_WAIT_NONE,
	HK_WAIT_LATE_SENDER,	/* a receive began before the send */
	HK_WAIT_LATE_RECEIVER,	/* a send that blocks began before the receive */
	HK_WAIT_BARRIER,	/* at a barrier, for the last rank */
	HK_WAIT_ALL,		/* in a collective from all to all, for the last rank */
	HK_WAIT_LATE_BROADCAST, /* in a collective from one to all, for the root */
	HK_WAIT_EARLY_REDUCE,	/* the root of a collective from all to one, for the last rank */
};

/* Returns whether ranks wait for each other in calls of DOMAIN, and work between these calls. */
bool hk_wait_is_domain(const char *domain);

/* Returns the pattern of waiting in collective FUNCTION of MPI, of C or Fortran, or of gloo, or
 * HK_WAIT_NONE if its ranks do not wait in it, or wait for each other in turn. */
enum hk_wait_pattern hk_wait_pattern_of(const char *function);

/* Returns whether FUNCTION sends and may block until the message is received. */
bool hk_wait_blocks(const char *function);

/* "late-sender", ...; static. */
const char *hk_wait_pattern_name(enum hk_wait_pattern pattern);

#endif
