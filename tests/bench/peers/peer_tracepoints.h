/* The events of peer_lttng.c: one integer each. LTTng's macros read this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER hk_peer
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "peer_tracepoints.h"

#if !defined(HK_TESTS_BENCH_PEER_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HK_TESTS_BENCH_PEER_TRACEPOINTS_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT_CLASS(hk_peer, value,
	LTTNG_UST_TP_ARGS(int, value),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, value, value)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(hk_peer, value, hk_peer, one, LTTNG_UST_TP_ARGS(int, value))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(hk_peer, value, hk_peer, begin, LTTNG_UST_TP_ARGS(int, value))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(hk_peer, value, hk_peer, end, LTTNG_UST_TP_ARGS(int, value))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(hk_peer, value, hk_peer, disabled, LTTNG_UST_TP_ARGS(int, value))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
