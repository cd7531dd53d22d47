#include "collector/feed/orphans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define BYTES_MAX (64u << 20)

int hk_orphans_add(struct hk_orphans *orphans, uint64_t sequence, const void *bytes, size_t size,
		   uint64_t now_ns)
{
	if (size > BYTES_MAX - orphans->bytes) {
		return -ENOBUFS;
	}
	struct hk_orphan *orphan = malloc(sizeof(*orphan) + size);
	if (!orphan) {
		return -ENOMEM;
	}
	*orphan = (struct hk_orphan){.sequence = sequence, .came_ns = now_ns, .size = size};
	memcpy(orphan->bytes, bytes, size);
	orphans->bytes += size;
	DL_APPEND(orphans->list, orphan);
	return 0;
}

void hk_orphans_remove(struct hk_orphans *orphans, struct hk_orphan *orphan)
{
	DL_DELETE(orphans->list, orphan);
	orphans->bytes -= orphan->size;
	free(orphan);
}

unsigned hk_orphans_expire(struct hk_orphans *orphans, uint64_t limit_ns)
{
	unsigned count = 0;
	while (orphans->list && orphans->list->came_ns < limit_ns) {
		hk_orphans_remove(orphans, orphans->list);
		count++;
	}
	return count;
}

uint64_t hk_orphans_oldest(const struct hk_orphans *orphans)
{
	uint64_t oldest = UINT64_MAX;
	const struct hk_orphan *orphan;
	DL_FOREACH (orphans->list, orphan) {
		oldest = orphan->sequence < oldest ? orphan->sequence : oldest;
	}
	return oldest;
}
