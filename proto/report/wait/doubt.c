#include "report/wait/doubt.h"

#include <stddef.h>

static const char *const texts[] = {
    [HK_DOUBT_NONE] = "",
    [HK_DOUBT_LOST] = "records were lost",
    [HK_DOUBT_RESTART] = "a collector was restarted",
    [HK_DOUBT_LEVEL] = "a level was below record",
    [HK_DOUBT_THREADS] = "several threads make the same calls",
    [HK_DOUBT_NESTED] = "calls contain each other",
    [HK_DOUBT_ROOM] = "too many communicators, functions or threads",
    [HK_DOUBT_MEMBER] = "they began after the ranks of their communicator had been counted",
    [HK_DOUBT_RANKS] = "several programs with the same ranks run at the same time",
};

const char *hk_doubt_text(uint32_t doubt)
{
	return doubt < sizeof(texts) / sizeof(texts[0]) ? texts[doubt] : "unknown";
}
