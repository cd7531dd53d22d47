#include "cli/compare/flow.h"

#include <stdlib.h>
#include <uthash.h>

#define SIGHTS 8u /* places of a storage that are remembered */

struct sight {
	uint64_t offset, count;
	uint32_t row;
};

struct storage {
	uint64_t identity;
	struct sight sights[SIGHTS]; /* the latest is at `next` - 1 */
	unsigned next;
	UT_hash_handle hh;
};

static struct storage *storage_of(struct storage **hash, uint64_t identity)
{
	struct storage *storage;

	HASH_FIND(hh, *hash, &identity, sizeof(identity), storage);
	if (storage) {
		return storage;
	}
	storage = calloc(1, sizeof(*storage));
	if (!storage) {
		return NULL;
	}
	storage->identity = identity;
	HASH_ADD(hh, *hash, identity, sizeof(storage->identity), storage);
	if (!storage->hh.tbl) {
		free(storage);
		return NULL;
	}
	return storage;
}

static uint32_t latest(const struct storage *storage, const struct hk_dump_row *row)
{
	unsigned many = storage->next < SIGHTS ? storage->next : SIGHTS;

	for (unsigned i = 1; i <= many; i++) {
		const struct sight *sight = &storage->sights[(storage->next - i) % SIGHTS];
		/* Differences, since the sum of a hostile offset and count may wrap around. */
		bool overlaps = sight->offset >= row->offset
				    ? sight->offset - row->offset < row->statistics.count
				    : row->offset - sight->offset < sight->count;
		if (overlaps) {
			return sight->row;
		}
	}
	return HK_FLOW_NONE;
}

static void storages_free(struct storage **hash)
{
	struct storage *storage, *next;

	HASH_ITER (hh, *hash, storage, next) {
		HASH_DEL(*hash, storage);
		free(storage);
	}
}

uint32_t *hk_flow_sources(const struct hk_values *values)
{
	uint32_t *sources = calloc(values->count + 1, sizeof(*sources));
	struct storage *hash = NULL;

	for (size_t i = 0; sources && i < values->count; i++) {
		struct hk_dump_row row;
		values->ops->row(values, i, &row);
		sources[i] = HK_FLOW_NONE;
		if (row.storage == 0 || row.dtype == HK_DTYPE_NONE) {
			continue;
		}
		struct storage *storage = storage_of(&hash, row.storage);
		if (!storage) {
			free(sources);
			sources = NULL;
			break;
		}
		sources[i] = latest(storage, &row);
		storage->sights[storage->next++ % SIGHTS] =
		    (struct sight){row.offset, row.statistics.count, (uint32_t)i};
	}
	storages_free(&hash);
	return sources;
}
