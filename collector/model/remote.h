/* remote.h: on a root, the further fields of a process of another node. One thread uses it. */
#ifndef HK_COLLECTOR_MODEL_REMOTE_H
#define HK_COLLECTOR_MODEL_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

struct hk_remote {
	uint64_t values_bytes;	/* memory of its state, at most */
	uint64_t counted_bytes; /* the same when it was last counted exactly */
	bool tailed;		/* the next two are known */
	uint64_t last_chunk;	/* number of the last chunk in its file */
	uint64_t chunk_end;	/* where that ends */
	uint64_t sequence;	/* of the last chunk, if it came in a stream; 0: none has */
	uint64_t sites_digest;	/* hk_sites_digest of its state; 0: to be made */
	uint64_t
	    evicted_at_source; /* records that its node evicted, by the tombstones in its file */
};

#endif
