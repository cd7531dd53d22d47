/* doubt.h: why the calls of a process cannot be numbered. Pure functions, any thread. */
#ifndef HK_REPORT_WAIT_DOUBT_H
#define HK_REPORT_WAIT_DOUBT_H

#include <stdint.h>

/* Numbers are part of messages. */
enum hk_doubt {
	HK_DOUBT_NONE = 0,
	HK_DOUBT_LOST = 1,    /* records were lost */
	HK_DOUBT_RESTART = 2, /* the collector did not see all of its records */
	HK_DOUBT_LEVEL = 3,   /* the level of a function was below "record" for a time */
	HK_DOUBT_THREADS = 4, /* several threads make the same collective calls */
	HK_DOUBT_NESTED = 5,  /* calls were found to be inside of another one too late */
	HK_DOUBT_ROOM = 6,    /* it uses too many communicators, functions or threads */
	HK_DOUBT_MEMBER = 7,  /* its communicator was matched without it before */
	HK_DOUBT_RANKS = 8,   /* another process with its rank runs at the same time */
};

/* "records were lost", ...; static. */
const char *hk_doubt_text(uint32_t doubt);

#endif
