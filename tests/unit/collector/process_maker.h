/* process_maker.h: simulated traced processes for tests of the collector.
 *
 * A process is a forked child that waits to be ended, and a segment written in its name by the test
 * itself through ring/writer.h. All failures end the test.
 */
#ifndef HK_TEST_PROCESS_MAKER_H
#define HK_TEST_PROCESS_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hooks/hook.h"
#include "ring/chain.h"
#include "ring/writer.h"

#define PROCESS_MAKER_THREADS 4
#define PROCESS_MAKER_SITES 16

struct process_maker {
	struct hk_writer writer;
	uint32_t *pool_room;
	uint32_t blocks_max;
	pid_t pid;
	bool owned; /* the child is ours to end */
	uint32_t sites;
	struct {
		struct hk_thread_slot *slot;
		uint32_t number;
		struct hk_chain_end end[HK_STREAMS];
		struct hk_cell *cell[PROCESS_MAKER_SITES];
	} thread[PROCESS_MAKER_THREADS];
};

struct process_facts {
	const char *directory; /* run directory */
	const char *job;       /* NULL: unknown */
	const char *program;   /* NULL: the test's own */
	const char *command;
	int32_t rank, world_size;
	uint32_t ppid;	       /* 0: the test */
	pid_t same_pid;	       /* another image of this child; 0: a new child */
	uint32_t blocks_max;   /* 0: 1024 */
	const uint8_t *parent; /* uid of the image it was forked from; NULL: it began by exec */
};

void process_maker_start(struct process_maker *maker, const struct process_facts *facts);

/* Defines a site with up to four keys (0 ends them); its id. */
uint32_t process_maker_site(struct process_maker *maker, const char *function, const char *library,
			    enum hk_meaning meaning, const uint8_t keys[4]);

/* A call on thread THREAD (0..): counted in its cell and recorded with WORDS. Times in ns = ticks.
 * False: no page was free and the record is counted as lost. */
bool process_maker_call(struct process_maker *maker, unsigned thread, uint32_t site, uint64_t start,
			uint64_t duration, const uint64_t *words, uint32_t count);

/* Thread THREAD is inside a call of SITE. */
void process_maker_open(struct process_maker *maker, unsigned thread, uint32_t site,
			uint64_t start);

/* Leaves by exit(CODE) as the agent would note it; or is killed. Then the child is gone and reaped.
 */
void process_maker_exit(struct process_maker *maker, int32_t code);
void process_maker_kill(struct process_maker *maker);

/* Unmaps; ends the child if it still lives and is its own. */
void process_maker_fini(struct process_maker *maker);

#endif
