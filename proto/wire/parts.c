#include "wire/parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <xxhash.h>

#include "wire/message.h"

#define LENGTH_BYTES 6u	 /* most bytes of a site's tag and length */
#define ROW_BYTES 135u	 /* most bytes of a row in its columns */
#define BUCKET_BYTES 15u /* most bytes of a bucket */

static const Hk__Process *take_sites(struct hk_parts *parts)
{
	const Hk__Process *whole = parts->whole;
	size_t bytes = 0, first = parts->site;
	while (parts->site < whole->n_sites) {
		bytes += LENGTH_BYTES + hk__site__get_packed_size(whole->sites[parts->site]);
		if (bytes > parts->most_bytes && parts->site > first) {
			break;
		}
		parts->site++;
	}
	parts->piece.sites = whole->sites + first;
	parts->piece.n_sites = parts->site - first;
	return &parts->piece;
}

/* Moves a column to element FIRST and sets its length to COUNT; an absent one stays absent. */
#define CUT(columns, name, first, count)               \
	do {                                           \
		if ((columns)->n_##name > 0) {         \
			(columns)->name += (first);    \
			(columns)->n_##name = (count); \
		}                                      \
	} while (0)

static const Hk__Process *take_rows(struct hk_parts *parts)
{
	Hk__Cells *cells = &parts->cells;
	size_t bytes = 0, first = parts->row, first_bucket = parts->bucket;
	*cells = *parts->whole->cells;
	while (parts->row < parts->whole->cells->n_site) {
		size_t buckets = cells->n_buckets > 0 ? cells->buckets[parts->row] : 0;
		bytes += ROW_BYTES + buckets * BUCKET_BYTES;
		if (bytes > parts->most_bytes && parts->row > first) {
			break;
		}
		parts->row++;
		parts->bucket += buckets;
	}
	size_t count = parts->row - first, bucket_count = parts->bucket - first_bucket;
	CUT(cells, site, first, count);
	CUT(cells, calls, first, count);
	CUT(cells, errors, first, count);
	CUT(cells, total_ns, first, count);
	CUT(cells, self_ns, first, count);
	CUT(cells, outermost_ns, first, count);
	CUT(cells, bytes, first, count);
	CUT(cells, min_ns, first, count);
	CUT(cells, max_ns, first, count);
	CUT(cells, sampled, first, count);
	CUT(cells, sampled_ns, first, count);
	CUT(cells, sampled_self_ns, first, count);
	CUT(cells, sampled_outermost_ns, first, count);
	CUT(cells, sampled_bytes, first, count);
	CUT(cells, device_ns, first, count);
	CUT(cells, stacks, first, count);
	CUT(cells, inner_calls, first, count);
	CUT(cells, buckets, first, count);
	CUT(cells, bucket, first_bucket, bucket_count);
	CUT(cells, count, first_bucket, bucket_count);
	parts->piece.cells = cells;
	return &parts->piece;
}

const Hk__Process *hk_parts_next(struct hk_parts *parts)
{
	parts->piece = *parts->whole;
	parts->piece.n_sites = 0;
	parts->piece.cells = NULL;
	if (parts->count++ == 0) {
		return &parts->piece;
	}
	/* Lists that are merged element by element were in the first piece. */
	parts->piece.n_threads = parts->piece.n_memory = parts->piece.n_memory_series = 0;
	if (parts->site < parts->whole->n_sites) {
		return take_sites(parts);
	}
	bool rows = parts->whole->cells && parts->row < parts->whole->cells->n_site;
	return rows ? take_rows(parts) : NULL;
}

int hk_parts_digest(const struct hk_parts *parts, uint64_t *ret_digest)
{
	Hk__Process bare = HK__PROCESS__INIT;
	uint8_t *bytes;
	size_t size;
	bare.sites = parts->piece.sites;
	bare.n_sites = parts->piece.n_sites;
	bare.cells = parts->piece.cells;
	int r = hk_message_pack(&bare.base, &bytes, &size);
	if (r == 0) {
		*ret_digest = XXH3_64bits(bytes, size);
		free(bytes);
	}
	return r;
}
