#include "agent/record/usual.h"

#define TRIES 8u

static struct hk_usual_kind *kind_of(struct hk_usual *usual, uint64_t key)
{
	uint32_t home = (uint32_t)((key * 0x9e3779b97f4a7c15ULL) >> 32);
	struct hk_usual_kind *kind = &usual->kinds[home % HK_USUAL_KINDS];
	for (uint32_t i = 0; i < TRIES; i++) {
		struct hk_usual_kind *at = &usual->kinds[(home + i) % HK_USUAL_KINDS];
		if (at->key == key) {
			return at;
		}
		if (!at->key) {
			kind = at;
			break;
		}
	}
	kind->key = key;
	kind->usual_ns = kind->seen = 0;
	return kind;
}

uint64_t hk_usual_ns(struct hk_usual *usual, uint64_t key, uint64_t worked_ns)
{
	struct hk_usual_kind *kind = kind_of(usual, key);
	if (kind->seen == 0 || worked_ns < kind->least_ns) {
		kind->least_ns = worked_ns;
	}
	kind->seen++;
	uint64_t usually_ns = kind->usual_ns ? kind->usual_ns : kind->least_ns;
	if (kind->seen == HK_USUAL_FEW) {
		kind->usual_ns = kind->least_ns;
		kind->seen = 0;
	}
	return worked_ns < usually_ns ? worked_ns : usually_ns;
}
