/* usual.h: the usual duration of a stretch of work, without disturbances.
 *
 * Stretches between the same two calls are of one kind. The shortest of each few consecutive ones
 * of a kind is the usual duration of the next ones. So the usual duration follows the program, up
 * and down, within twice as many stretches. Pure functions of one thread's table; general registers
 * only.
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

/* Adds a stretch of WORKED_NS of the kind KEY, which is not 0. Returns its usual part: WORKED_NS or
 * less. A kind without room replaces another one. */
uint64_t hk_usual_ns(struct hk_usual *usual, uint64_t key, uint64_t worked_ns);

#endif
