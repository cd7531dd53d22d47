#include "report/model/refusals.h"

#include <assert.h>

#include "report/model/report.h"
#include "ring/segment.h"

/* Indexed by enum hk_refusal. */
static const struct {
	const char *key, *words;
} refusals[] = {
    [HK_REFUSED_PENDING] = {"pending", "slots not relocated yet"},
    [HK_REFUSED_DENIED] = {"denied", "slots on the deny list"},
    [HK_REFUSED_THUNKS] = {"thunks", "slots without a free thunk"},
    [HK_REFUSED_PROTECTED] = {"protected", "slots on protected pages"},
    [HK_REFUSED_MEMORY] = {"memory", "slots without memory for a site"},
    [HK_REFUSED_DATA] = {"data", "symbols that are no functions"},
    [HK_REFUSED_FOREIGN] = {"foreign", "slots held by another patcher"},
    [HK_REFUSED_POINTER] = {"pointer", "addresses that the program may compare: describe "
				       "these functions in a hooks file"},
    [HK_REFUSED_VARIANT] = {"variant", "functions of a variant calling convention"},
};
static const size_t refusals_known = sizeof(refusals) / sizeof(refusals[0]);

static_assert(HK_REPORT_REFUSALS == HK_REFUSALS_MAX, "one count for each reason");

const char *hk_refusal_key(size_t reason)
{
	return reason < refusals_known ? refusals[reason].key : NULL;
}

const char *hk_refusal_words(size_t reason)
{
	return reason < refusals_known ? refusals[reason].words : NULL;
}
