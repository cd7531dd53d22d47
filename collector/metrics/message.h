/* message.h: the series of a walk as one message of OTLP, OpenTelemetry's protocol.
 *
 * Names, units, helps and labels are those of the page. A counter is a cumulative, monotonic sum
 * without the ending _total, which readers for Prometheus add. Used by the collector's thread.
 */
#ifndef HK_COLLECTOR_METRICS_MESSAGE_H
#define HK_COLLECTOR_METRICS_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

struct hk_collector;

/* Makes the message of all jobs from the present values. The caller frees *RET_BYTES. Returns 0 or
 * -ENOMEM. */
int hk_metrics_message(struct hk_collector *collector, uint8_t **ret_bytes, size_t *ret_size);

#endif
