/* role.h: the role of a process within its rank: main, helper or launcher. Pure rules, no state.
 *
 * The first process of a rank that is no launcher is its main; so is the next image of a main after
 * exec, and a process that comes when all earlier mains of the rank have ended. Processes that a
 * main starts, or that run beside it, are helpers, shells too. A process that began by fork without
 * exec is never a main, whether its parent is known or not. Launchers and shells above the mains
 * are launchers.
 */
#ifndef HK_COLLECTOR_PROCESS_ROLE_H
#define HK_COLLECTOR_PROCESS_ROLE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_role_facts {
	const char *program;  /* path */
	const char *command;  /* arguments joined by spaces */
	int32_t rank;	      /* as its launcher said; -1: unknown */
	Hk__Role predecessor; /* of the image this one replaced by exec; UNKNOWN: none */
	bool below_main;      /* started by a main or helper of its rank, directly or not */
	bool main_lives;      /* its rank has another main that has not ended */
	bool forked;	      /* without exec, from whatever process */
};

Hk__Role hk_role_decide(const struct hk_role_facts *facts);

#endif
