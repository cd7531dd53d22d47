/* chain.h: the arrows along collective calls where a format wants each chain of them begun,
 * continued and ended: the calls of one collective by their starts, the last of which is known when
 * no more comes.
 *
 * A chain is begun when its first call begins, and is given its calls as these end, in any order.
 * The newest HK_CHAINS_MOST are kept; a call that comes to an older one has no arrow. Threads must
 * outlive the chains. One owner, no locking.
 */
#ifndef HK_CLI_EXPORT_CHAIN_H
#define HK_CLI_EXPORT_CHAIN_H

#include "cli/export/exporter.h"

#define HK_CHAINS_MOST 65536u

struct hk_chain_part {
	const struct hk_export_thread *thread;
	uint64_t time_ns; /* when its call begins */
};

struct hk_chains {
	struct hk_chain *list; /* NULL at first */
	/* Writes PART of chain ID: KIND is "s" for its first, "f" for its last, else "t". */
	void (*write)(void *context, const char *kind, uint64_t id,
		      const struct hk_chain_part *part);
	void *context;
};

/* The first call of chain ID has begun. -ENOMEM. */
int hk_chains_begin(struct hk_chains *chains, uint64_t id, const struct hk_chain_part *first);

/* A call of chain ID has ended; FIRST: it is the one that began it. */
void hk_chains_add(struct hk_chains *chains, uint64_t id, bool first,
		   const struct hk_chain_part *part);

/* No more comes: ends all, and releases them. */
void hk_chains_finish(struct hk_chains *chains);

/* Releases them as they are. */
void hk_chains_free(struct hk_chains *chains);

#endif
