#include "report/wait/collective_wait.h"

const struct hk_wait_part *hk_wait_awaited(const struct hk_wait_parts *parts)
{
	const struct hk_wait_part *awaited = NULL;

	for (size_t i = 0; i < parts->count; i++) {
		const struct hk_wait_part *part = &parts->list[i];
		bool counts = parts->pattern == HK_WAIT_LATE_BROADCAST ? part->is_root
			      : parts->pattern == HK_WAIT_EARLY_REDUCE ? !part->is_root
								       : true;
		if (counts && (!awaited || part->start_ns > awaited->start_ns)) {
			awaited = part;
		}
	}
	return awaited;
}

static bool waits_for(enum hk_wait_pattern pattern, const struct hk_wait_part *part,
		      const struct hk_wait_part *awaited)
{
	return part != awaited && (pattern != HK_WAIT_EARLY_REDUCE || part->is_root);
}

bool hk_wait_contradicts(const struct hk_wait_parts *parts, const struct hk_wait_part *awaited)
{
	for (size_t i = 0; i < parts->count; i++) {
		const struct hk_wait_part *part = &parts->list[i];
		uint64_t error_ns = part->error_ns + awaited->error_ns;
		if (waits_for(parts->pattern, part, awaited) &&
		    part->end_ns + error_ns < awaited->start_ns) {
			return true;
		}
	}
	return false;
}

uint64_t hk_wait_of(enum hk_wait_pattern pattern, const struct hk_wait_part *part,
		    const struct hk_wait_part *awaited)
{
	uint64_t until_ns = awaited->start_ns < part->end_ns ? awaited->start_ns : part->end_ns;
	bool exceeds = until_ns > part->start_ns + part->error_ns + awaited->error_ns;

	return waits_for(pattern, part, awaited) && exceeds ? until_ns - part->start_ns : 0;
}
