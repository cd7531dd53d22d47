/* chain.h: the arrows along collective calls for formats where each chain has a beginning, steps
 * and an end. A chain holds the calls of one collective by their starts; its last call is known at
 * the end of the export. A chain begins when its first call begins, and receives its calls as these
 * end, in any order. The newest HK_CHAINS_MOST are kept; a call of an older one has no arrow.
 * Threads must outlive the chains. One owner, no locking. */
#ifndef HK_CLI_EXPORT_CHAIN_H
#define HK_CLI_EXPORT_CHAIN_H

#include "cli/export/exporter.h"

#define HK_CHAINS_MOST 65536u

struct hk_chain_part {
	const struct hk_export_thread *thread;
	uint64_t time_ns; /* start of its call */
};

struct hk_chains {
	struct hk_chain *list; /* NULL at first */
	/* Writes PART of chain ID: KIND is "s" for its first, "f" for its last, else "t". */
	void (*write)(void *context, const char *kind, uint64_t id,
		      const struct hk_chain_part *part);
	void *context;
};

/* Begins chain ID with its first call, which has begun. Returns 0 or -ENOMEM. */
int hk_chains_begin(struct hk_chains *chains, uint64_t id, const struct hk_chain_part *first);

/* Adds a call that has ended to chain ID. FIRST: the call that began the chain. */
void hk_chains_add(struct hk_chains *chains, uint64_t id, bool first,
		   const struct hk_chain_part *part);

/* Ends and frees all chains. */
void hk_chains_finish(struct hk_chains *chains);

/* Frees all chains without writing. */
void hk_chains_free(struct hk_chains *chains);

#endif
