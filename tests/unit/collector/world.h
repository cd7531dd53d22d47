/* world.h: a collector without server and loop for tests, in directories of its own: tests call its
 * parts themselves. All failures end the test. */
#ifndef HK_TEST_WORLD_H
#define HK_TEST_WORLD_H

#include "process_maker.h"

struct hk_collector;
struct hk_process;

struct world {
	char base[32];
	char run[48];
	struct hk_collector *collector;
};

void world_make(struct world *world);
void world_remove(struct world *world);

/* Another collector in the place of this one, which ends as by kill -9: nothing is written any
 * more.
 */
void world_restart(struct world *world);

/* The process of MAKER's segment; NULL. */
struct hk_process *world_find(const struct world *world, const struct process_maker *maker);

/* MAKER's process is gone: finalises it. */
void world_finalise(struct world *world, const struct process_maker *maker);

#endif
