#include "cli/export/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

struct hk_chain {
	uint64_t id;
	struct hk_chain_part first, last;
	bool first_ended; /* the file has the first call's end */
	bool begun;	  /* its "s" is written */
	bool joined;	  /* there is a last call besides the first */
	UT_hash_handle hh;
};

static void begin(const struct hk_chains *chains, struct hk_chain *chain)
{
	if (!chain->begun) {
		chain->begun = true;
		chains->write(chains->context, "s", chain->id, &chain->first);
	}
}

/* Ends CHAIN. A call without a second one has no arrow. */
static void end(struct hk_chains *chains, struct hk_chain *chain)
{
	if (chain->joined) {
		begin(chains, chain);
		chains->write(chains->context, "f", chain->id, &chain->last);
	}
	HASH_DEL(chains->list, chain);
	free(chain);
}

int hk_chains_begin(struct hk_chains *chains, uint64_t id, const struct hk_chain_part *first)
{
	struct hk_chain *chain = calloc(1, sizeof(*chain));

	if (!chain) {
		return -ENOMEM;
	}
	chain->id = id;
	chain->first = *first;
	HASH_ADD(hh, chains->list, id, sizeof(id), chain);
	if (!chain->hh.tbl) {
		free(chain);
		return -ENOMEM;
	}
	if (HASH_COUNT(chains->list) > HK_CHAINS_MOST) {
		end(chains, chains->list); /* the oldest */
	}
	return 0;
}

/* Adds PART. Calls before the last one continue the chain. */
static void join(const struct hk_chains *chains, struct hk_chain *chain,
		 const struct hk_chain_part *part)
{
	struct hk_chain_part earlier = *part;

	if (!chain->joined || part->time_ns >= chain->last.time_ns) {
		earlier = chain->last;
		chain->last = *part;
	}
	if (chain->joined) {
		chains->write(chains->context, "t", chain->id, &earlier);
	}
	chain->joined = true;
}

void hk_chains_add(struct hk_chains *chains, uint64_t id, bool first,
		   const struct hk_chain_part *part)
{
	struct hk_chain *chain;

	HASH_FIND(hh, chains->list, &id, sizeof(id), chain);
	if (!chain) {
		return;
	}
	if (first) {
		chain->first = *part;
		chain->first_ended = true;
	} else {
		join(chains, chain, part);
	}
	if (chain->first_ended && chain->joined) {
		begin(chains, chain);
	}
}

void hk_chains_finish(struct hk_chains *chains)
{
	while (chains->list) {
		end(chains, chains->list);
	}
}

void hk_chains_free(struct hk_chains *chains)
{
	struct hk_chain *chain, *next;

	HASH_ITER (hh, chains->list, chain, next) {
		HASH_DEL(chains->list, chain);
		free(chain);
	}
}
