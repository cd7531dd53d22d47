#include "collector/metrics/push.h"

#include <stddef.h>

#include "base/clock.h"
#include "collector/metrics/message.h"
#include "collector/model/collector.h"
#include "collector/otlp/otlp.h"

void hk_metrics_push(struct hk_collector *collector, uint64_t now_ns)
{
	uint8_t *bytes = NULL;
	size_t size = 0;
	if (collector->otlp && hk_otlp_due(collector->otlp, now_ns)) {
		uint64_t begin = hk_clock_monotonic_ns();
		if (hk_metrics_message(collector, &bytes, &size) < 0) {
			bytes = NULL;
		}
		hk_otlp_send(collector->otlp, bytes, size, begin);
	}
}
