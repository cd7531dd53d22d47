#include "report/model/bare.h"

#include "ring/segment.h"

/* Indexed by enum hk_bare_reason; 0 stands for all that this version does not know. */
static const struct {
	const char *key, *words, *fix;
} reasons[HK_BARE_REASONS + 1] = {
    {"other", "runs without the agent", ""},
    [HK_BARE_ENVIRONMENT] = {"environment", "lost LD_PRELOAD: its environment lacks the agent",
			     "keep it where LD_PRELOAD is set or cleaned: "
			     "LD_PRELOAD=\"x:$LD_PRELOAD\", or start hookcli run there"},
    [HK_BARE_STATIC] = {"static", "is a static program: nothing can be preloaded into it",
			"link it dynamically"},
    [HK_BARE_RIGHTS] = {"rights",
			"is setuid, setgid or has capabilities: the loader preloads nothing",
			"trace a copy without these rights"},
    [HK_BARE_FOREIGN] = {"foreign", "is for another C library or processor than the agent",
			 "build it for glibc and 64 bits"},
};

static uint32_t known(uint32_t reason)
{
	return reason <= HK_BARE_REASONS ? reason : 0;
}

const char *hk_bare_key(uint32_t reason)
{
	return reasons[known(reason)].key;
}

const char *hk_bare_words(uint32_t reason)
{
	return reasons[known(reason)].words;
}

const char *hk_bare_fix(uint32_t reason)
{
	return reasons[known(reason)].fix;
}
