/* push.h: makes a message of OTLP when one is due, and hands it over. Used by the collector's
 * thread. */
#ifndef HK_COLLECTOR_METRICS_PUSH_H
#define HK_COLLECTOR_METRICS_PUSH_H

#include <stdint.h>

struct hk_collector;

/* Does nothing if COLLECTOR does not push, or nothing is due at NOW_NS (monotonic). */
void hk_metrics_push(struct hk_collector *collector, uint64_t now_ns);

#endif
