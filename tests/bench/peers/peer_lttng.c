/* Loops over a call with LTTng-UST tracepoints around it. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "peer_tracepoints.h"

#include "peer.h"

int bench_plain(void);

static void run_one(long calls)
{
	for (long i = 0; i < calls; i++) {
		bench_plain();
		lttng_ust_tracepoint(hk_peer, one, (int)i);
	}
}

static void run_pair(long calls)
{
	for (long i = 0; i < calls; i++) {
		lttng_ust_tracepoint(hk_peer, begin, (int)i);
		int result = bench_plain();
		lttng_ust_tracepoint(hk_peer, end, result);
	}
}

/* The driver does not enable this event. */
static void run_disabled(long calls)
{
	for (long i = 0; i < calls; i++) {
		bench_plain();
		lttng_ust_tracepoint(hk_peer, disabled, (int)i);
	}
}

const struct peer_loop peer_loops[] = {
    {"one", run_one},
    {"pair", run_pair},
    {"disabled", run_disabled},
    {NULL, NULL},
};
