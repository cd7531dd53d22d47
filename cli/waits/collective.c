#include "cli/waits/collective.h"

#include <errno.h>
#include <stdlib.h>

#include <uthash.h>

struct kept {
	UT_hash_handle hh; /* in the order of the first parts */
	struct hk_collective collective;
};

struct hk_collectives {
	struct kept *kept;
	hk_collective_fn *done;
	void *context;
};

struct hk_collectives *hk_collectives_new(hk_collective_fn *done, void *context)
{
	struct hk_collectives *collectives = calloc(1, sizeof(*collectives));

	if (collectives) {
		collectives->done = done;
		collectives->context = context;
	}
	return collectives;
}

static void forget(struct hk_collectives *collectives, struct kept *kept)
{
	HASH_DEL(collectives->kept, kept);
	free(kept->collective.parts);
	free(kept);
}

struct hk_collectives *hk_collectives_free(struct hk_collectives *collectives)
{
	while (collectives && collectives->kept) {
		forget(collectives, collectives->kept);
	}
	free(collectives);
	return NULL;
}

static int take(struct hk_collectives *collectives, struct kept *kept)
{
	int rc = collectives->done(collectives->context, &kept->collective);

	forget(collectives, kept);
	return rc;
}

static struct kept *kept_of(struct hk_collectives *collectives,
			    const struct hk_collective_call *call)
{
	struct kept *kept;

	HASH_FIND(hh, collectives->kept, &call->id, sizeof(call->id), kept);
	if (kept || !(kept = calloc(1, sizeof(*kept)))) {
		return kept;
	}
	kept->collective.id = call->id;
	kept->collective.comm = call->comm;
	kept->collective.function = call->function;
	kept->collective.pattern = hk_wait_pattern_of(call->function);
	HASH_ADD(hh, collectives->kept, collective.id, sizeof(kept->collective.id), kept);
	if (!kept->hh.tbl) {
		free(kept);
		return NULL;
	}
	return kept;
}

int hk_collectives_enter(struct hk_collectives *collectives, const struct hk_collective_call *call,
			 const struct hk_wait_part *part)
{
	struct kept *kept = kept_of(collectives, call);
	struct hk_collective *collective = kept ? &kept->collective : NULL;
	struct hk_wait_part *parts =
	    kept ? reallocarray(collective->parts, collective->count + 1, sizeof(*parts)) : NULL;

	if (!parts) {
		return -ENOMEM;
	}
	collective->parts = parts;
	parts[collective->count++] = *part;
	return HASH_COUNT(collectives->kept) > HK_COLLECTIVES ? take(collectives, collectives->kept)
							      : 0;
}

int hk_collectives_finish(struct hk_collectives *collectives)
{
	int rc = 0;

	while (rc == 0 && collectives->kept) {
		rc = take(collectives, collectives->kept);
	}
	return rc;
}
