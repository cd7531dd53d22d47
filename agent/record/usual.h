/* usual.h: how long a stretch of work usually is, when nothing disturbs it.
 *
 * Stretches between the same two calls are of one kind. Of each few of a kind that follow each
 * other the shortest says how long the next ones usually are. So what is usual follows the program
 * within twice as many, up and down. Pure functions of one thread's table; general registers only.
 */
#ifndef HK_AGENT_RECORD_USUAL_H
#define HK_AGENT_RECORD_USUAL_H

#include <stdint.h>

#define HK_USUAL_KINDS 64u /* a power of two */
#define HK_USUAL_FEW 8u

struct hk_usual {
	struct hk_usual_kind {
		uint64_t key;	   /* 0: unused */
		uint64_t usual_ns; /* 0: not known yet */
		uint64_t least_ns; /* of the SEEN latest ones */
		uint64_t seen;
	} kinds[HK_USUAL_KINDS];
};

/* A stretch of the kind KEY, not 0, took WORKED_NS. Returns how much of that is usual: WORKED_NS or
 * less. A kind for which there is no room takes the place of another one. */
uint64_t hk_usual_ns(struct hk_usual *usual, uint64_t key, uint64_t worked_ns);

#endif
